package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// raceRecorders keep what is cleaned, and the order in which runs were started and ended: no clock blurs it. A start is
// recorded under the lock of its job, an end before it is committed, and so before any start that goes by it.
var raceRecorders = []string{
	`CREATE TABLE gone (LIKE rq_run INCLUDING DEFAULTS)`,
	`CREATE FUNCTION keep_gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO gone SELECT OLD.*; RETURN NULL; END'`,
	`CREATE TRIGGER keep_gone AFTER DELETE ON rq_run_ended FOR EACH ROW EXECUTE FUNCTION keep_gone()`,
	`CREATE TABLE mark (place bigserial, job_id text, run_id bigint, change int)`,
	`CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO mark (job_id, run_id, change) VALUES (coalesce(NEW.job_id, OLD.job_id), coalesce(NEW.id, OLD.id), TG_ARGV[0]::int); RETURN NULL; END'`,
	`CREATE TRIGGER born AFTER INSERT ON rq_run_alive FOR EACH ROW WHEN (NEW.state = 1) EXECUTE FUNCTION mark('1')`,
	`CREATE TRIGGER started AFTER UPDATE ON rq_run_alive FOR EACH ROW WHEN (OLD.state <> 1 AND NEW.state = 1) EXECUTE FUNCTION mark('1')`,
	`CREATE TRIGGER ended AFTER DELETE ON rq_run_alive FOR EACH ROW WHEN (OLD.state = 1) EXECUTE FUNCTION mark('-1')`,
}

// everyRow are the rows of history, those cleaned included.
const everyRow = `(SELECT * FROM rq_run UNION ALL SELECT * FROM gone)`

// raceLaws are queries of what should not be after a race, each row a sentence.
var raceLaws = []string{
	`SELECT format('%s rows of job %s, cause %s, have the fire %s and the attempt %s', count(*), job_id, cause, nominal, attempt)
		FROM ` + everyRow + ` r GROUP BY job_id, cause, nominal, attempt HAVING count(*) > 1`,
	`SELECT format('run %s of job %s was in the state %s when it was cleaned', id, job_id, state) FROM gone WHERE state < 2`,
	`SELECT format('run %s is queued, but its job %s is removed', id, job_id) FROM rq_run WHERE state = 0 AND NOT EXISTS (SELECT FROM rq_job j WHERE j.id = job_id)`,
	`SELECT format('run %s of job %s runs still, since %s, under %s, epoch %s; of that name there are %s', r.id, r.job_id, r.started, r.instance, r.epoch,
		(SELECT jsonb_agg(to_jsonb(i.*) - '{slots,needs,zones,release,clock_offset}'::text[]) FROM rq_instance i WHERE i.name = r.instance)) FROM rq_run r WHERE r.state = 1`,
	`SELECT format('run %s of job %s has ended before it started', id, job_id) FROM ` + everyRow + ` r WHERE finished < started`,
	// The counter of a job that was never removed and added again.
	`SELECT format('job %s has counted %s runs, and has %s', j.id, j.run_count, r.n) FROM rq_job j
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM ` + everyRow + ` r WHERE r.job_id = j.id AND r.cause = 0 AND r.state NOT IN (7, 8)) r
		WHERE j.id NOT LIKE 'hot%' AND j.run_count <> r.n`,
	sqlBeyond,
}

// sqlMostActive tells for each job how many of its runs were active at once, and the run that was the last of these to start.
const sqlMostActive = `SELECT DISTINCT ON (job_id) job_id, n, run_id FROM (
	SELECT *, sum(change) OVER (PARTITION BY job_id ORDER BY place) AS n FROM mark) s ORDER BY job_id, n DESC, place`

// sqlBeyond tells the starts at which, by the times of the rows, more runs of a job were active than may be. The limit is limitOf.
const sqlBeyond = `SELECT format('by the times of the rows run %s of job %s was one too many', id, job_id) FROM (
	SELECT job_id, id, change, sum(change) OVER (PARTITION BY job_id ORDER BY at, change) AS n FROM (
		SELECT job_id, id, started AS at, 1 AS change FROM ` + everyRow + ` r WHERE started IS NOT NULL
		UNION ALL SELECT job_id, id, finished, -1 FROM ` + everyRow + ` r WHERE started IS NOT NULL AND finished IS NOT NULL) e) s
	WHERE change > 0 AND n > 1 + ascii(right(job_id, 1)) % 3`

// sqlNextFires tells the next fire of each job, that of a paused one from its definition.
const sqlNextFires = `SELECT j.id, coalesce(j.next_nominal, (convert_from(d.spec, 'UTF8')::json ->> 'next')::timestamptz) FROM rq_job j JOIN rq_definition d ON d.seq = j.seq`

// judge looks at what is left of the race, and returns what is wrong.
func (r *race) judge(s *postgres.Store) {
	t := r.t
	t.Helper()
	faults, err := s.Check(t.Context())
	if err != nil {
		t.Error(err)
	}
	faults = append(faults, r.verdict()...)
	for i, fault := range faults {
		if i == 20 {
			t.Errorf("and %d more", len(faults)-i)
			break
		}
		t.Errorf("%s (seed %d)", fault, r.seed)
	}
}

func (r *race) verdict() (faults []string) {
	t := r.t
	t.Helper()
	c := connectTo(t, r.address)
	for _, law := range raceLaws {
		faults = append(faults, list[string](t, c, law)...)
	}
	type fire struct {
		ID      string
		Nominal *time.Time
	}
	rows := map[string]map[time.Time]bool{}
	for _, f := range list[fire](t, c, `SELECT job_id AS id, nominal FROM `+everyRow+` r WHERE cause = 0 AND attempt = 1`) {
		if rows[f.ID] == nil {
			rows[f.ID] = map[time.Time]bool{}
		}
		rows[f.ID][f.Nominal.UTC()] = true
	}
	ends := map[string][]time.Time{}
	for id := range r.begun {
		ends[id] = slices.Clone(r.ended[id])
	}
	for _, f := range list[fire](t, c, sqlNextFires) {
		if f.Nominal == nil {
			faults = append(faults, fmt.Sprintf("job %s has lost its next time", f.ID))
			continue
		}
		ends[f.ID] = append(ends[f.ID], f.Nominal.UTC())
	}
	fires := 0
	for id := range r.begun {
		n, chain := chainFaults(id, r.begun[id], ends[id], rows[id])
		fires += n
		faults = append(faults, chain...)
	}
	type most struct {
		ID  string
		N   int
		Run int64
	}
	for _, m := range list[most](t, c, sqlMostActive) {
		if m.N > limitOf(m.ID) {
			faults = append(faults, fmt.Sprintf("run %d is the %d. of job %s that was active at once, its max_instances is %d", m.Run, m.N, m.ID, limitOf(m.ID)))
		}
	}
	if fires == 0 {
		faults = append(faults, "there was no fire at all: the race was none")
	}
	r.count("fires", fires)
	return faults
}

// chainFaults checks that each fire of a job's lives has a row, and that there is no row beside them.
func chainFaults(id string, begun, ended []time.Time, rows map[time.Time]bool) (fires int, faults []string) {
	if len(begun) != len(ended) {
		return 0, []string{fmt.Sprintf("job %s was added %d times and has come to an end %d times", id, len(begun), len(ended))}
	}
	slices.SortFunc(begun, time.Time.Compare)
	slices.SortFunc(ended, time.Time.Compare)
	for i, first := range begun {
		for fire := first; fire.Before(ended[i]); fire = fire.Add(raceStep) {
			fires++
			if !rows[fire] {
				faults = append(faults, fmt.Sprintf("job %s has no row for its fire %s", id, fire.Format(time.RFC3339Nano)))
			}
		}
	}
	if len(faults) == 0 && len(rows) != fires {
		faults = append(faults, fmt.Sprintf("job %s has %d rows of the schedule for %d fires", id, len(rows), fires))
	}
	return fires, faults
}

// told tells what was done, and how often the server found members of the race in each other's way.
func (r *race) told(server *postgrestest.Server) {
	t := r.t
	t.Helper()
	c := connectTo(t, server.URL())
	const count = `SELECT count(*)::int FROM regexp_matches(pg_read_file('log/server.log'), $1, 'gn')`
	for what, pattern := range map[string]string{"deadlocks in the server's log": `deadlock detected$`, "waits of 100 ms for a lock": `still waiting for`} {
		var n int
		if err := c.QueryRow(t.Context(), count, pattern).Scan(&n); err != nil {
			t.Error(err)
		}
		r.done[what] = n
	}
	// What the members of a deadlock were at: the begins of their statements, two lines each.
	for _, line := range list[string](t, c, `SELECT m[1] FROM regexp_matches(pg_read_file('log/server.log'), '(Process \d+: [^\n]{0,200})', 'gn') m LIMIT 10`) {
		t.Logf("in a deadlock: %s", line)
	}
	for _, what := range slices.Sorted(maps.Keys(r.done)) {
		t.Logf("%6d %s", r.done[what], what)
	}
	if what := r.lacks(); what != "" {
		t.Errorf("there was no %s: the race was none", what)
	}
}

// connectTo connects for the time of a test.
func connectTo(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// list reads all rows of a query, of one column or of one field each.
func list[T any](t *testing.T, c *pgx.Conn, query string, args ...any) []T {
	t.Helper()
	rows, err := c.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	read := pgx.RowToStructByPos[T]
	var one T
	switch any(one).(type) {
	case string, int, int64:
		read = pgx.RowTo[T]
	}
	all, err := pgx.CollectRows(rows, read)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// TestTheRaceIsJudged plants what the race must find.
func TestTheRaceIsJudged(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	first := time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	run(t, address, raceRecorders...)
	const insert = `INSERT INTO %s (id, nominal, due, attempt, cause, state, job_id, job_name, task, started, finished)
		SELECT nextval('rq_run_id'), t, t, 1, 0, %d, '%s', '', '', t + interval '1 ms', t + interval '%d ms' FROM (SELECT '2026-12-01T08:00:00Z'::timestamptz + %d * interval '50 ms' AS t) t`
	good := func() *race {
		run(t, address, `TRUNCATE rq_run, gone, mark`)
		for n := range 4 {
			run(t, address, fmt.Sprintf(insert, []string{"rq_run", "gone"}[n%2], 2, "job0", 51, n))
		}
		return &race{
			t: t, address: address, done: map[string]int{},
			begun: map[string][]time.Time{"job0": {first}}, ended: map[string][]time.Time{"job0": {first.Add(4 * raceStep)}},
		}
	}
	if limitOf("job0") != 1 {
		t.Fatalf("the job of this test may have %d active runs", limitOf("job0"))
	}
	if faults := good().verdict(); len(faults) > 0 {
		t.Fatalf("what is right is judged %q", faults)
	}
	for _, c := range []struct{ plant, want string }{
		{`DELETE FROM gone WHERE nominal = (SELECT max(nominal) FROM gone)`, "has no row for its fire 2026-12-01T08:00:00.15Z"},
		{`INSERT INTO gone SELECT * FROM rq_run LIMIT 1`, "2 rows of job job0, cause 0"},
		{fmt.Sprintf(insert, "gone", 2, "job0", 51, 4), "has 5 rows of the schedule for 4 fires"},
		{`UPDATE rq_run SET state = 1`, "is the 2. of job job0 that was active at once"},
		{`UPDATE rq_run SET state = 1`, "runs still"},
		{`UPDATE rq_run SET state = 0`, "is queued, but its job job0 is removed"},
		{`UPDATE gone SET state = 1`, "was in the state 1 when it was cleaned"},
		{`UPDATE gone SET finished = started - interval '1 us'`, "has ended before it started"},
	} {
		r := good()
		run(t, address, c.plant)
		if faults := r.verdict(); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s: it is judged %q, want %q", c.plant, faults, c.want)
		}
	}
	r := good()
	jobs, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"job1"}}, func(now time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
		return ruqi.Change{Job: newJob(id, now)}
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, address, `UPDATE rq_job SET run_count = 1`)
	r.begun["job1"] = []time.Time{jobs[0].NextNominal.Add(-raceStep)}
	faults := strings.Join(r.verdict(), "\n")
	if !strings.Contains(faults, "job job1 has counted 1 runs, and has 0") || !strings.Contains(faults, "job job1 has no row for its fire") {
		t.Errorf("a job without rows is judged %q", faults)
	}
}
