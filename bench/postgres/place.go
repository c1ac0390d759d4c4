package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A place is a store seen from outside, past the instances that work on it.
type place interface {
	address() string
	// arm makes the first n jobs due, from at on, spread evenly.
	arm(ctx context.Context, n int, at time.Time, spread time.Duration) error
	// drained reports whether no run is alive.
	drained(ctx context.Context) (bool, error)
	// tidy removes dead rows, so that no round pays for the one before.
	tidy(ctx context.Context) error
	close() error
}

// A database is a place on the server.
type database struct {
	url  string
	conn *pgx.Conn
}

func openDatabase(ctx context.Context, url string) (*database, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &database{url, conn}, nil
}

func (d *database) address() string { return d.url }

func (d *database) arm(ctx context.Context, n int, at time.Time, spread time.Duration) error {
	_, err := d.conn.Exec(ctx, `UPDATE rq_job j SET next_nominal = v.t, next_due = v.t
		FROM (SELECT seq, $2::timestamptz + ((row_number() OVER (ORDER BY seq) - 1) * $3::float8 / $1) * interval '1 microsecond' AS t FROM rq_job ORDER BY seq LIMIT $1) v
		WHERE j.seq = v.seq`, n, at, spread.Microseconds())
	return err
}

func (d *database) drained(ctx context.Context) (none bool, err error) {
	err = d.conn.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM rq_run WHERE state < 2)").Scan(&none)
	return none, err
}

func (d *database) tidy(ctx context.Context) error {
	return execAll(ctx, d.conn, "VACUUM (ANALYZE) rq_job", "VACUUM (ANALYZE) rq_run")
}

func (d *database) close() error { return d.conn.Close(context.Background()) }

// A file is a place in SQLite.
type file struct {
	path string
	db   *sql.DB
}

func openFile(dir, name string) (*file, error) {
	path := filepath.Join(dir, name)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	return &file{path, db}, nil
}

func (f *file) address() string { return f.path }

func (f *file) arm(ctx context.Context, n int, at time.Time, spread time.Duration) error {
	_, err := f.db.ExecContext(ctx, `UPDATE rq_job AS j SET next_nominal = v.t, next_due = v.t
		FROM (SELECT seq, ?2 + (row_number() OVER (ORDER BY seq) - 1) * ?3 / ?1 AS t FROM rq_job ORDER BY seq LIMIT ?1) v
		WHERE j.seq = v.seq`, n, at.UnixMicro(), spread.Microseconds())
	return err
}

func (f *file) drained(ctx context.Context) (none bool, err error) {
	err = f.db.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM rq_run WHERE state < 2)").Scan(&none)
	return none, err
}

func (f *file) tidy(context.Context) error { return nil }

func (f *file) close() error { return f.db.Close() }

// rare is a trigger that is due in a month: until then its job is due when it is armed.
func rare(int) (ruqi.Trigger, string) {
	first := time.Now().Add(30 * 24 * time.Hour).Truncate(time.Second)
	t, err := trigger.Interval(365*24*time.Hour, trigger.IntervalOptions{Start: &first, Zone: time.UTC})
	if err != nil {
		panic(err) // the length is right
	}
	return t, nothing
}

// eachSecond is a trigger of one second for one of n jobs, which share the second evenly.
func eachSecond(n int) func(int) (ruqi.Trigger, string) {
	start := time.Now().Truncate(time.Second).Add(4 * time.Second)
	return func(i int) (ruqi.Trigger, string) {
		first := start.Add(time.Duration(i) * time.Second / time.Duration(n))
		t, err := trigger.Interval(time.Second, trigger.IntervalOptions{Start: &first, Zone: time.UTC})
		if err != nil {
			panic(err) // the length is right
		}
		return t, note
	}
}

// fill adds n jobs to the store at an address, a thousand a step.
func fill(ctx context.Context, address string, n int, job func(i int) (ruqi.Trigger, string)) (err error) {
	store, err := openStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	registry := newRegistry()
	for begin := 0; begin < n; begin += 1000 {
		records := map[string]*ruqi.JobRecord{}
		var ids []string
		for i := begin; i < min(begin+1000, n); i++ {
			id := fmt.Sprintf("reports/daily/%06d", i)
			when, function := job(i)
			spec := ruqi.JobSpec{ID: id, Name: id, Trigger: when, Task: ruqi.Call(function, nil), Executor: "default", Policy: ruqi.Policy{}.WithDefaults()}
			data, err := registry.EncodeJob(spec)
			if err != nil {
				return err
			}
			next, ok := when.Next(time.Now())
			if !ok {
				return fmt.Errorf("job %d is never due", i)
			}
			records[id] = &ruqi.JobRecord{
				ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:" + function, MaxInstances: 1,
				NextNominal: &next, NextDue: &next, Version: 1, Spec: data,
			}
			ids = append(ids, id)
		}
		_, _, err := store.EditJobs(ctx, ruqi.JobQuery{IDs: ids}, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
			return ruqi.Change{Job: records[id]}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wait is how long a bench waits for something that takes seconds.
const wait = 2 * time.Minute

// until looks at something again and again until it is so.
func until(ctx context.Context, what string, pause time.Duration, so func() (bool, error)) error {
	for end := time.Now().Add(wait); time.Now().Before(end); {
		done, err := so()
		if err != nil || done {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("waited %v in vain until %s", wait, what)
}

// drain waits until the functions of a group have been called n times more than before, and no run is alive.
func drain(ctx context.Context, g group, p place, before int64, n int) error {
	err := until(ctx, fmt.Sprintf("%d runs have run", n), 5*time.Millisecond, func() (bool, error) {
		called, err := g.called()
		return called-before >= int64(n), err
	})
	if err != nil {
		return err
	}
	return until(ctx, "no run is alive", 2*time.Millisecond, func() (bool, error) { return p.drained(ctx) })
}

// sleepUntil sleeps until a moment, or ctx ends.
func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cell makes a text fit into a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
