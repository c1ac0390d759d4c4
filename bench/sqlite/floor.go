package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	_ "modernc.org/sqlite"
)

// bareTables hold what no scheduler can do without: a job's next time, found by
// time, and a run's row, once for each fire.
const bareTables = `
CREATE TABLE job (id TEXT PRIMARY KEY, next INTEGER, spec BLOB) WITHOUT ROWID;
CREATE INDEX job_next ON job (next);
CREATE TABLE run (id INTEGER PRIMARY KEY, job TEXT NOT NULL, nominal INTEGER NOT NULL, state INTEGER NOT NULL,
  started INTEGER, finished INTEGER, owner TEXT, task TEXT);
CREATE UNIQUE INDEX run_key ON run (job, nominal);
`

const (
	bareAddJob = `INSERT INTO job (id, next, spec) VALUES (?, ?, '{}')`
	bareMove   = `UPDATE job SET next = ? WHERE id = ?`
	bareInsert = `INSERT INTO run (id, job, nominal, state, started, owner, task) VALUES (?, ?, ?, 1, ?, ?, ?)`
	bareFinish = `UPDATE run SET state = 2, finished = ? WHERE id = ? AND state = 1`

	sameAddJob = `INSERT INTO rq_job (id, state, reason, pool, needs, priority, max_instances, next_nominal, next_due, run_count, rev)
		VALUES (?, 0, '', 'default', 'func:noop', 0, 1, ?2, ?2, 0, 1)`
	sameMove   = `UPDATE rq_job SET next_nominal = ?1, next_due = ?1, run_count = run_count + 1 WHERE id = ?2`
	sameInsert = `INSERT INTO rq_run (id, job_id, cause, nominal, attempt, state, due, started, instance, epoch, job_name, task, params)
		VALUES (?1, ?2, 0, ?3, 1, 1, ?3, ?4, ?5, 1, ?2, ?6, '{}')`
	sameFinish = `UPDATE rq_run SET state = 2, finished = ? WHERE id = ? AND state = 1 AND instance = 'bench' AND epoch = 1`
)

func openBare(ctx context.Context, path string, jobs int) (func(context.Context) error, func() error, error) {
	return openFloor(ctx, path, jobs, bareTables, [4]string{bareAddJob, bareMove, bareInsert, bareFinish})
}

// openSame uses the tables and indexes that the store makes.
func openSame(ctx context.Context, path string, jobs int) (func(context.Context) error, func() error, error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	if err := s.Close(); err != nil {
		return nil, nil, err
	}
	return openFloor(ctx, path, jobs, "", [4]string{sameAddJob, sameMove, sameInsert, sameFinish})
}

// openFloor prepares the statements on one connection with the settings of the store.
func openFloor(ctx context.Context, path string, jobs int, tables string, texts [4]string) (func(context.Context) error, func() error, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(4000)&_txlock=immediate")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, nil, err
	}
	var statements [4]*sql.Stmt
	for i, text := range texts {
		if statements[i], err = db.Prepare(text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	f := &floor{db: db, add: statements[0], move: statements[1], insert: statements[2], finish: statements[3], jobs: jobs, now: epoch.UnixMicro()}
	err = f.step(jobs, func(tx func(*sql.Stmt) *sql.Stmt, i int) error {
		_, err := tx(f.add).Exec(jobID(i), f.now)
		return err
	})
	return f.round, db.Close, err
}

type floor struct {
	db                        *sql.DB
	add, move, insert, finish *sql.Stmt
	jobs                      int
	now, run                  int64
}

// step does n things in one transaction.
func (f *floor) step(n int, do func(tx func(*sql.Stmt) *sql.Stmt, i int) error) error {
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	bound := map[*sql.Stmt]*sql.Stmt{}
	in := func(s *sql.Stmt) *sql.Stmt {
		if bound[s] == nil {
			bound[s] = tx.Stmt(s)
		}
		return bound[s]
	}
	for i := range n {
		if err := do(in, i); err != nil {
			return fmt.Errorf("%w, %v", err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (f *floor) round(context.Context) error {
	for begin := 0; begin < f.jobs; begin += batch {
		n, first := min(batch, f.jobs-begin), f.run+1
		err := f.step(n, func(tx func(*sql.Stmt) *sql.Stmt, i int) error {
			id := jobID(begin + i)
			if _, err := tx(f.move).Exec(f.now+period, id); err != nil {
				return err
			}
			f.run++
			_, err := tx(f.insert).Exec(f.run, id, f.now, time.Now().UnixMicro(), "bench", task)
			return err
		})
		if err != nil {
			return err
		}
		err = f.step(n, func(tx func(*sql.Stmt) *sql.Stmt, i int) error {
			_, err := tx(f.finish).Exec(time.Now().UnixMicro(), first+int64(i))
			return err
		})
		if err != nil {
			return err
		}
	}
	f.now += period
	return nil
}
