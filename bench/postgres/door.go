package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
)

// sqlFileHistory is sqlHistory for SQLite.
const sqlFileHistory = `WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ?1)
	INSERT INTO rq_run (id, nominal, due, started, finished, epoch, attempt, cause, state, job_id, job_name, task, instance, params)
	SELECT i, ?2 - (?1 - i) * 1000000, ?2 - (?1 - i) * 1000000, ?2 - (?1 - i) * 1000000, ?2 - (?1 - i) * 1000000 + 1000000, 1, 1, CASE WHEN i % 1000 = 7 THEN 1 ELSE 0 END,
		CASE WHEN i % 100 = 3 THEN 3 ELSE 2 END, printf('reports/daily/%06d', i % 1000), 'name ' || (i % 100), 'nothing()', 'bench', '{}' FROM g`

// said is how many of the newest runs have an output, of 5,000 bytes each: more than is shown of it.
const said = 1000

// door measures lists of /ruqi, over HTTP, on many jobs and a long history.
func (p *plan) door(ctx context.Context, out io.Writer, s *server) (err error) {
	fmt.Fprintf(out, "\nLists of /ruqi with %d jobs and %d runs, over HTTP on loopback from one client: %d times each, ms.\n", p.crowd, p.history, pageTimes)
	if err := s.create(ctx, "door", ""); err != nil {
		return err
	}
	if err := fill(ctx, s.database("door"), p.crowd, rare); err != nil {
		return err
	}
	d, err := openDatabase(ctx, s.database("door"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if _, err := d.conn.Exec(ctx, sqlHistory, p.history); err != nil {
		return err
	}
	newest := fmt.Sprintf("(SELECT id FROM rq_run ORDER BY id DESC LIMIT %d)", said)
	err = execAll(ctx, d.conn, `INSERT INTO rq_run_name SELECT DISTINCT job_name, job_id FROM rq_run ON CONFLICT DO NOTHING`,
		`UPDATE rq_run SET output_bytes = 5000 WHERE id IN `+newest,
		`INSERT INTO rq_output SELECT id, 0, convert_to(repeat('x', 5000), 'UTF8') FROM `+newest+` r`, "VACUUM (ANALYZE)")
	if err != nil {
		return err
	}
	if err := doorPages(ctx, out, "PostgreSQL", d.url, p); err != nil {
		return err
	}

	dir, err := os.MkdirTemp("", "ruqi-bench-door-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := openFile(dir, "ruqi.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := fill(ctx, f.address(), p.crowd, rare); err != nil {
		return err
	}
	if _, err := f.db.ExecContext(ctx, sqlFileHistory, p.history, time.Now().UnixMicro()); err != nil {
		return err
	}
	for _, statement := range []string{
		`INSERT OR IGNORE INTO rq_run_name SELECT DISTINCT job_name, job_id FROM rq_run`,
		`INSERT INTO rq_run_more (run_id, output_bytes) SELECT id, 5000 FROM ` + newest,
		`INSERT INTO rq_output SELECT id, 0, CAST(replace(hex(zeroblob(2500)), '0', 'x') AS BLOB) FROM ` + newest,
	} {
		if _, err := f.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return doorPages(ctx, out, "SQLite", f.address(), p)
}

// doorPages serves a store, with nothing that works on it, and asks for its lists.
func doorPages(ctx context.Context, out io.Writer, name, address string, p *plan) (err error) {
	store, err := openStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := count(ctx, store); err != nil { // as the cleaning of a service does
		return err
	}
	registry := newRegistry()
	scheduler, err := ruqi.New(store, registry, ruqi.Options{Zone: time.UTC})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	const token = "bench"
	server := httpapi.NewServer(httpapi.New(httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry, Legacy: &legacy.Settings{},
		Tokens: []httpapi.Token{{Name: "bench", Hash: sha256.Sum256([]byte(token))}},
	}))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it says that it was closed
	}()
	defer func() {
		_ = server.Close()
		<-ended
	}()
	get := func(path string) (rows, bytes int, took time.Duration, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/ruqi/"+path, nil)
		if err != nil {
			return 0, 0, 0, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, 0, 0, err
		}
		text, err := io.ReadAll(resp.Body)
		took = time.Since(began)
		_ = resp.Body.Close() // it has been read
		var shape struct {
			Stat string
			Data struct{ List []json.RawMessage }
		}
		if err == nil {
			err = json.Unmarshal(text, &shape)
		}
		if err == nil && shape.Stat != "OK" {
			err = fmt.Errorf("%s: %s", path, resp.Header.Get("x-detail"))
		}
		return len(shape.Data.List), len(text), took, err
	}
	fmt.Fprintf(out, "\n| %s | ms, median | shortest | longest | rows |\n| --- | --- | --- | --- | --- |\n", name)
	for _, q := range []struct {
		name, path string
		times      int
	}{
		{"jobs, first page", "get_jobs?page_index=1", pageTimes},
		{"jobs, page 1,000", "get_jobs?page_index=1000", pageTimes},
		{"jobs, page in the middle", fmt.Sprint("get_jobs?page_index=", p.crowd/30), pageTimes},
		{"jobs, last page", fmt.Sprint("get_jobs?page_index=", p.crowd/15), pageTimes},
		{"jobs, one by its id", "get_jobs?page_index=1&job_id=reports/daily/000500", pageTimes},
		{"jobs of a name", "get_jobs?page_index=1&job_name=reports/daily/000500", pageTimes},
		{"jobs, a page of 1,000", "get_jobs?page_index=1&page_size=1000", 5},
		{"jobs, all of them, read for the first time", "get_jobs", 1},
		{"jobs, all of them", "get_jobs", 1},
		{"history, first page", "get_history?page_index=1", pageTimes},
		{"history, page 1,000", "get_history?page_index=1000", pageTimes},
		{"history, last page", fmt.Sprint("get_history?page_index=", p.history/15), 5},
		{"history of a job", "get_history?page_index=1&job_id=reports/daily/000500", pageTimes},
		{"history of a name, which ten jobs have", "get_history?page_index=1&job_name=name%2050", pageTimes},
		{"history, what failed (one of 100)", "job_history_list?page_index=1&is_success=no", pageTimes},
		{"history, the newest 10,000", "get_history", 1},
	} {
		var ms []float64
		var rows, bytes int
		for range q.times {
			var took time.Duration
			var err error
			if rows, bytes, took, err = get(q.path); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			ms = append(ms, took.Seconds()*1000)
		}
		if bytes > 1<<20 {
			q.name = fmt.Sprintf("%s, %.1f MiB", q.name, float64(bytes)/(1<<20))
		}
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %.2f | %d |\n", q.name, quantile(slices.Sorted(slices.Values(ms)), 0.5), slices.Min(ms), slices.Max(ms), rows)
	}
	return nil
}
