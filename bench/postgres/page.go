package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// historyJobs are the jobs that the history is of.
const historyJobs = 1000

// sqlHistory makes a history: each job in turn, ten jobs a name, one run of a hundred failed, one of a thousand by hand.
const sqlHistory = `INSERT INTO rq_run (id, nominal, due, started, finished, epoch, attempt, cause, state, job_id, job_name, task, instance, params)
	SELECT nextval('rq_run_id'), t, t, t, t + interval '1 second', 1, 1, CASE WHEN i % 1000 = 7 THEN 1 ELSE 0 END, CASE WHEN i % 100 = 3 THEN 3 ELSE 2 END,
		'reports/daily/' || lpad((i % 1000)::text, 6, '0'), 'name ' || i % 100, 'nothing()', 'bench', '{}'
	FROM (SELECT i, now() - ($1 - i) * interval '1 second' AS t FROM generate_series(1, $1::bigint) i) g`

// page measures lists of runs in a long history.
func (p *plan) page(ctx context.Context, out io.Writer, s *server) (err error) {
	if err := s.create(ctx, "history", ""); err != nil {
		return err
	}
	if err := fill(ctx, s.database("history"), historyJobs, rare); err != nil {
		return err
	}
	d, err := openDatabase(ctx, s.database("history"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	began := time.Now()
	if _, err := d.conn.Exec(ctx, sqlHistory, p.history); err != nil {
		return err
	}
	err = execAll(ctx, d.conn, `INSERT INTO rq_run_name SELECT DISTINCT job_name, job_id FROM rq_run ON CONFLICT DO NOTHING`, "VACUUM (ANALYZE)")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nA page of 50 of %d runs (made in %v), through the store's Runs: %d times each, ms.\n\n", p.history, time.Since(began).Round(time.Second), pageTimes)
	store, err := openStore(ctx, d.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	counted, err := count(ctx, store)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The history is counted for totals in %d cleanings, which took %v.\n\n", counted.cleanings, counted.took.Round(time.Millisecond))
	last, pages, walk, err := walkAll(ctx, store)
	if err != nil {
		return err
	}
	return readPages(ctx, out, store, last, fmt.Sprintf("the whole history, %d pages of %d, each", pages, ruqi.MaxPage), walk)
}

// A counting is how a history that was there came into the totals.
type counting struct {
	cleanings int
	took      time.Duration
}

// count cleans, with no bound, until there is nothing left to count: then a cleaning is done at once.
func count(ctx context.Context, store ruqi.JobStore) (counting, error) {
	const most, nothing = 100, 100 * time.Millisecond
	var c counting
	for range most {
		began := time.Now()
		if _, err := store.Clean(ctx, ruqi.Retention{}); err != nil {
			return c, err
		}
		took := time.Since(began)
		if took < nothing && c.cleanings > 0 {
			return c, nil
		}
		c.cleanings++
		c.took += took
	}
	return c, errors.New("the history has no end")
}

// pageTimes is how often each page is read.
const pageTimes = 30

// walkAll reads the whole history and returns the cursor of its last page, and how long each page took.
func walkAll(ctx context.Context, store ruqi.JobStore) (last string, pages int, ms []float64, err error) {
	query := ruqi.RunQuery{Limit: ruqi.MaxPage}
	for {
		began := time.Now()
		page, err := store.Runs(ctx, query)
		if err != nil {
			return "", 0, nil, err
		}
		ms = append(ms, time.Since(began).Seconds()*1000)
		if page.Next == "" {
			return query.Cursor, len(ms), ms, nil
		}
		query.Cursor = page.Next
	}
}

func readPages(ctx context.Context, out io.Writer, store ruqi.JobStore, last, walked string, walk []float64) error {
	fmt.Fprintln(out, "| page | ms, median | longest | rows |\n| --- | --- | --- | --- |")
	failed := []ruqi.RunState{ruqi.RunFailed}
	for _, q := range []struct {
		name  string
		query ruqi.RunQuery
	}{
		{"first", ruqi.RunQuery{}},
		{"last, by its cursor", ruqi.RunQuery{Cursor: last}},
		{"of a job", ruqi.RunQuery{Job: "reports/daily/000500"}},
		{"of a job, last", ruqi.RunQuery{Job: "reports/daily/000500", Cursor: last}},
		{"of a name, which ten jobs have", ruqi.RunQuery{Name: "name 50"}},
		{"of a name that nothing has", ruqi.RunQuery{Name: "nothing"}},
		{"failed (one of 100)", ruqi.RunQuery{States: failed}},
		{"failed, last", ruqi.RunQuery{States: failed, Cursor: last}},
		{"lost (there is none)", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunLost}}},
		{"running (there is none)", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}}},
		{"succeeded", ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunSucceeded}}},
		{"by hand (one of 1,000)", ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseManual}}},
		{"retries (there is none)", ruqi.RunQuery{Causes: []ruqi.Cause{ruqi.CauseRetry}}},
		{"of a job, failed", ruqi.RunQuery{Job: "reports/daily/000503", States: failed}},
		{"executed, with their total", ruqi.RunQuery{Executed: true}},
		{"executed and succeeded, with their total", ruqi.RunQuery{Executed: true, States: []ruqi.RunState{ruqi.RunSucceeded}}},
		{"executed and not succeeded, with their total", ruqi.RunQuery{Executed: true, States: []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled, ruqi.RunLost}}},
		{"executed, of a job, with their total", ruqi.RunQuery{Executed: true, Job: "reports/daily/000500"}},
		{"executed, of a name, with their total", ruqi.RunQuery{Executed: true, Name: "name 50"}},
		{"executed, by an offset of 10,000", ruqi.RunQuery{Executed: true, Offset: 10_000}},
	} {
		q.query.Limit = ruqi.DefaultPage
		var ms []float64
		rows := 0
		for range pageTimes {
			began := time.Now()
			page, err := store.Runs(ctx, q.query)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			ms, rows = append(ms, time.Since(began).Seconds()*1000), len(page.Runs)
		}
		pageRow(out, q.name, ms, rows)
	}
	pageRow(out, walked, walk, ruqi.MaxPage)
	return nil
}

func pageRow(out io.Writer, name string, ms []float64, rows int) {
	fmt.Fprintf(out, "| %s | %.2f | %.2f | %d |\n", name, quantile(slices.Sorted(slices.Values(ms)), 0.5), slices.Max(ms), rows)
}
