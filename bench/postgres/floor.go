package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A floor writes by hand, on one connection, what the store writes for plain runs, into the store's own tables: the
// same jobs moved on, the same rows inserted, the same fenced ends, batch by batch, each in one transaction of one round trip.
type floor struct {
	conn *pgx.Conn
	// finding: what is due is found and locked first, with a round trip of its own, as every claim must.
	finding bool
	now     time.Time
}

const (
	floorJobs = `SELECT seq, id FROM rq_job ORDER BY seq LIMIT $1`
	floorFind = `SELECT seq, id, next_due FROM rq_job WHERE pool = 'default' AND needs = 'func:nothing' AND priority = 0 AND state = 0
		AND next_due IS NOT NULL AND next_due <= $2 ORDER BY next_due, seq LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED`
	floorMove = `UPDATE rq_job j SET state = 0, reason = '', next_nominal = v.next, next_due = v.next, run_count = run_count + 1
		FROM unnest($1::bigint[], $2::timestamptz[]) v (seq, next) WHERE j.seq = v.seq`
	floorInsert = `INSERT INTO rq_run_alive (id, nominal, due, attempt, cause, state, job_id, job_name, task, params, started, instance, epoch)
		SELECT nextval('rq_run_id'), v.nominal, v.nominal, 1, 0, 1, v.job, v.job, 'nothing()', '{}', $3::timestamptz, 'bench', 1
		FROM unnest($1::text[], $2::timestamptz[]) v (job, nominal) RETURNING id`
	// The row moves from those that are alive to those that have ended.
	floorFinish = `UPDATE rq_run r SET state = v.state, finished = v.finished, reason = v.reason
		FROM unnest($1::bigint[], $2::smallint[], $3::timestamptz[], $4::text[]) v (id, state, finished, reason)
		WHERE r.id >= v.id AND r.id <= v.id AND r.state < 2 AND r.state + 0 = 1 AND r.instance = 'bench' AND r.epoch = 1`
)

// openFloor connects with what the store sets for its statements.
func openFloor(ctx context.Context, address string, finding bool) (worker, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "jit"} {
		config.RuntimeParams[name] = "off"
	}
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &floor{conn: conn, finding: finding}, nil
}

func (f *floor) close(ctx context.Context) error { return f.conn.Close(ctx) }

func (f *floor) do(ctx context.Context, what string, n int) (answer, error) {
	switch what {
	case "cpu", "begin", "end":
		return answer{}, nil
	case "round":
		return answer{}, f.round(ctx, n)
	}
	return answer{}, fmt.Errorf("a floor cannot do %q", what)
}

// round does n runs. The jobs without a search are read beforehand, as if known.
func (f *floor) round(ctx context.Context, n int) error {
	f.now = time.Now()
	var all jobKeys
	if !f.finding {
		rows, err := f.conn.Query(ctx, floorJobs, n)
		if err != nil {
			return err
		}
		if all, err = readKeys(rows, false); err != nil {
			return err
		}
	}
	for done := 0; done < n; {
		k := all
		if f.finding {
			b := &pgx.Batch{}
			b.Queue("BEGIN")
			b.Queue(floorFind, min(batch, n-done), f.now).Query(func(rows pgx.Rows) (err error) {
				k, err = readKeys(rows, true)
				return err
			})
			if err := f.conn.SendBatch(ctx, b).Close(); err != nil {
				return err
			}
			if len(k.seqs) == 0 {
				return errors.New("the floor found nothing due")
			}
		} else {
			k = k.part(done, min(done+batch, n), f.now)
		}
		if err := f.runs(ctx, k); err != nil {
			return err
		}
		done += len(k.seqs)
	}
	return nil
}

// jobKeys name jobs and their times.
type jobKeys struct {
	seqs []int64
	ids  []string
	due  []time.Time
}

func readKeys(rows pgx.Rows, due bool) (k jobKeys, err error) {
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var id string
		var at time.Time
		targets := []any{&seq, &id}
		if due {
			targets = append(targets, &at)
		}
		if err := rows.Scan(targets...); err != nil {
			return k, err
		}
		k.seqs, k.ids, k.due = append(k.seqs, seq), append(k.ids, id), append(k.due, at)
	}
	return k, rows.Err()
}

func (k jobKeys) part(from, to int, due time.Time) jobKeys {
	p := jobKeys{seqs: k.seqs[from:to], ids: k.ids[from:to], due: k.due[from:to]}
	for i := range p.due {
		p.due[i] = due
	}
	return p
}

// runs starts a run of each job and ends it.
func (f *floor) runs(ctx context.Context, k jobKeys) error {
	n := len(k.seqs)
	next, finished := make([]time.Time, n), make([]time.Time, n)
	states, reasons, ids := make([]int16, n), make([]string, n), make([]int64, 0, n)
	for i := range n {
		next[i], states[i] = k.due[i].Add(30*24*time.Hour), 2
	}
	b := &pgx.Batch{}
	if !f.finding {
		b.Queue("BEGIN")
	}
	b.Queue(floorMove, k.seqs, next)
	b.Queue(floorInsert, k.ids, k.due, time.Now()).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	b.Queue("COMMIT")
	if err := f.conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if len(ids) != n {
		return fmt.Errorf("%d of %d rows were inserted", len(ids), n)
	}
	now := time.Now()
	for i := range finished {
		finished[i] = now
	}
	ends := &pgx.Batch{}
	ends.Queue("BEGIN")
	ends.Queue(floorFinish, ids, states, finished, reasons)
	ends.Queue("COMMIT")
	return f.conn.SendBatch(ctx, ends).Close()
}
