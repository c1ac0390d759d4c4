package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// What a claim does for a job with a long batch does not grow with the square of the batch: its rows are read, and none of them looks for
// the others. Of the batch one row is given back.
func TestALongBatchIsReadOnce(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.Shared(t).Schema(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	fill(t, s, 3, 0)
	const rows = 2000
	exec(t, s, `INSERT INTO rq_run (id, nominal, due, attempt, cause, state, batch, job_id, job_name, task)
		SELECT nextval('rq_run_id'), now() - n * interval '1 second', now() - n * interval '1 second', 1, 0, CASE WHEN n = $1 AND j = 1 THEN 1 ELSE 0 END, 7, 'job ' || j, 'name', 'task'
		FROM generate_series(1, 2) j CROSS JOIN generate_series(1, $1::int) n`, rows)
	exec(t, s, "VACUUM ANALYZE rq_run_alive")
	values := map[string]any{
		"now": nil, "pools": []string{"default"}, "slots": []int32{64}, "needs": []string{"func:0", "func:1", "func:2"}, "except": []string{}, "name": "x", "epoch": 1,
	}
	for _, c := range []struct {
		name, sql string
		args      []any
		back      float64
	}{
		{"look", sqlLook.sql, argsOf(sqlLook, values), 1},
		{"queued jobs", sqlQueuedJobs.sql, argsOf(sqlQueuedJobs, values), 1},        // job 2: of job 1 a run runs
		{"alive runs", sqlAliveRuns, []any{[]string{"job 1", "job 2", "job 3"}}, 3}, // the one that runs, and the oldest of each batch
	} {
		var plans []struct{ Plan *planNode }
		b := &pgx.Batch{}
		b.Queue("EXPLAIN (ANALYZE, FORMAT JSON) "+c.sql, c.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&plans) })
		if err := s.look(context.Background(), s.engine, b); err != nil {
			t.Fatal(c.name, err)
		}
		visited := 0.0
		plans[0].Plan.walk(func(n *planNode) {
			if n.Relation == "rq_run_alive" {
				visited += n.Loops * max(n.Rows, 1)
			}
		})
		if most := 6.0 * 2 * rows; visited > most || plans[0].Plan.Rows != c.back {
			t.Errorf("%s: it looks at %v rows that are alive, want at most %v; it gives %v back, want %v", c.name, visited, most, plans[0].Plan.Rows, c.back)
		}
	}
}

func argsOf(c claimStatement, values map[string]any) []any {
	args := make([]any, len(c.params))
	for i, name := range c.params {
		args[i] = values[name]
	}
	return args
}
