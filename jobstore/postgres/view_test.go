package postgres_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// A handClock stands still until it is moved.
type handClock struct {
	mu sync.Mutex
	at time.Time // guarded by mu
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = to
}

func (c *handClock) move(d time.Duration) { c.set(c.now().Add(d)) }

// A report is a store on a clock of its own, and its views as a program finds them that knows nothing of Ruqi.
type report struct {
	*postgres.Store
	t       *testing.T
	address string
	clock   *handClock
	owner   ruqi.Owner
}

func newReport(t *testing.T, address string) *report {
	t.Helper()
	r := &report{t: t, address: address, clock: &handClock{at: time.Date(2026, 12, 1, 8, 0, 0, 123456000, time.UTC)}}
	var err error
	if r.Store, err = postgres.OpenAt(t.Context(), address, postgres.Options{}, r.clock.now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	i, err := r.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "host:8585:4242"}, Lease: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	r.owner = i.Owner
	return r
}

// add adds a job that is due now, or has no next time.
func (r *report) add(id, spec string, idle bool) {
	r.t.Helper()
	due := r.clock.now()
	job := &ruqi.JobRecord{ID: id, Name: "name of " + id, State: ruqi.JobActive, Pool: "default", Needs: "x", MaxInstances: 1, Version: 1, Spec: []byte(spec)}
	if !idle {
		job.NextNominal, job.NextDue = &due, at(due)
	}
	r.edit(job)
}

func (r *report) edit(job *ruqi.JobRecord) {
	r.t.Helper()
	_, _, err := r.EditJobs(r.t.Context(), ruqi.JobQuery{IDs: []string{job.ID}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
		return ruqi.Change{Job: job}
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// claim starts a run of the job that has been due longest, whose next time is an hour later, or skips its fire.
func (r *report) claim() ruqi.Claimed {
	r.t.Helper()
	request := ruqi.ClaimRequest{Owner: r.owner, Slots: map[string]int{"default": 1}, Needs: []string{"x"}}
	claimed, err := r.Claim(r.t.Context(), request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		job := due[0].Job
		next := job.NextDue.Add(time.Hour)
		run := ruqi.Run{JobName: job.Name, Task: "command:echo " + strings.Repeat("long ", 100), Cause: ruqi.CauseSchedule, State: ruqi.RunRunning, Nominal: *job.NextNominal, Due: *job.NextDue, Attempt: 1}
		if due[0].Active > 0 {
			run.State = ruqi.RunSkipped
		}
		return []ruqi.Plan{{JobID: job.ID, State: job.State, NextNominal: &next, NextDue: at(next), Runs: []ruqi.Run{run}}}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return claimed
}

// write appends to the output of a run, one write for each part.
func (r *report) write(run int64, parts ...string) {
	r.t.Helper()
	offset := int64(0)
	for _, part := range parts {
		late, err := r.WriteRuns(r.t.Context(), r.owner, []ruqi.RunUpdate{{ID: run, At: offset, Output: []byte(part)}})
		if err != nil || len(late) > 0 {
			r.t.Fatal(late, err)
		}
		offset += int64(len(part))
	}
}

func (r *report) finish(run ruqi.Run, state ruqi.RunState) {
	r.t.Helper()
	run.State = state
	if late, err := r.Finish(r.t.Context(), r.owner, []ruqi.Done{{Run: run}}); err != nil || len(late) > 0 {
		r.t.Fatal(late, err)
	}
}

// rows reads a query of one column.
func (r *report) rows(query string) []string {
	r.t.Helper()
	return list[string](r.t, connectTo(r.t, r.address), query)
}

func (r *report) want(what string, got []string, want ...string) {
	r.t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const sqlColumns = `SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = `

func TestJobsCanBeReadAsTheOriginalHadThem(t *testing.T) {
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	r.want("the columns", r.rows(sqlColumns+`'ruqi_jobs' ORDER BY ordinal_position`),
		"id text", "next_run_time double precision", "job_state bytea", "job_lock boolean", "job_name text", "job_trigger text", "job_rule text",
		"u_time timestamp without time zone", "c_time timestamp without time zone")
	r.add("a", `{"trigger":{"kind":"cron","expr":"30 2 * * *","zone":"UTC"}}`, false)
	r.claim()
	r.add("b", `{"trigger":{"kind":"interval","every":"90s"}}`, false)
	r.add("c", `{"trigger":{"kind":"any","of":[1, 2]}}`, false)
	r.add("d", `{"trigger":{"kind":"date","at":"2026-12-24T18:00:00+01:00"}}`, true)
	r.clock.move(time.Minute)
	r.add("d", `{"trigger":{"kind":"date","at":"2026-12-24T18:00:00+01:00"},"v":1}`, true)
	r.add("e", `{"trigger":`, true)
	r.add("f", `[]`, true)
	r.add("g", "{\"trigger\":{\"kind\":\"cron\",\"expr\":\"\xff\"}}", true) // no UTF-8
	r.add("h", `{"trigger":7}`, true)
	r.add("i", `{"trigger":{"kind":[1]}}`, true)
	due := r.clock.now()
	r.edit(&ruqi.JobRecord{ID: "j", Name: "name of j", State: ruqi.JobActive, Pool: "default", Needs: "x", MaxInstances: 1, Version: 1,
		Spec: []byte(`{"trigger":{"kind":"all"}}`), NextDue: at(due)}) // NextDue alone is no fire time
	r.want("the jobs", r.rows(`SELECT concat_ws('|', id, next_run_time, encode(job_state, 'escape'), job_lock, job_name, job_trigger, job_rule, u_time, c_time) FROM ruqi_jobs ORDER BY id`),
		`a|1796115600.123456|{"trigger":{"kind":"cron","expr":"30 2 * * *","zone":"UTC"}}|t|name of a|cron|30 2 * * *|2026-12-01 08:00:00|2026-12-01 08:00:00`,
		`b|1796112000.123456|{"trigger":{"kind":"interval","every":"90s"}}|f|name of b|interval|90s|2026-12-01 08:00:00|2026-12-01 08:00:00`,
		`c|1796112000.123456|{"trigger":{"kind":"any","of":[1, 2]}}|f|name of c|any|{"kind":"any","of":[1, 2]}|2026-12-01 08:00:00|2026-12-01 08:00:00`,
		`d|{"trigger":{"kind":"date","at":"2026-12-24T18:00:00+01:00"},"v":1}|f|name of d|date|2026-12-24T18:00:00+01:00|2026-12-01 08:01:00|2026-12-01 08:00:00`,
		`e|{"trigger":|f|name of e|2026-12-01 08:01:00|2026-12-01 08:01:00`,
		`f|[]|f|name of f|2026-12-01 08:01:00|2026-12-01 08:01:00`,
		`g|{"trigger":{"kind":"cron","expr":"\377"}}|f|name of g|2026-12-01 08:01:00|2026-12-01 08:01:00`,
		`h|{"trigger":7}|f|name of h|7|2026-12-01 08:01:00|2026-12-01 08:01:00`,
		`i|{"trigger":{"kind":[1]}}|f|name of i|[1]|{"kind":[1]}|2026-12-01 08:01:00|2026-12-01 08:01:00`,
		`j|{"trigger":{"kind":"all"}}|f|name of j|all|{"kind":"all"}|2026-12-01 08:01:00|2026-12-01 08:01:00`)
}

func TestHistoryCanBeReadAsTheOriginalHadIt(t *testing.T) {
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	r.want("the columns", r.rows(sqlColumns+`'ruqi_jobs_history' ORDER BY ordinal_position`),
		"id bigint", "job_id text", "job_name text", "cmd text", "cmd_is_success boolean", "cmd_output text", "cmd_cost double precision",
		"scheduler_name text", "c_time timestamp without time zone")
	r.add("a", `{}`, false)
	run := r.claim().Runs[0]
	r.write(run.ID, "one\n", "日\xe6", "\x9c\xac\n") // a character in two writes
	r.clock.move(1500 * time.Millisecond)
	r.finish(run, ruqi.RunSucceeded)
	r.clock.move(time.Hour)
	for _, state := range []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled, ruqi.RunLost} {
		r.finish(r.claim().Runs[0], state)
		r.clock.move(time.Hour)
	}
	r.claim() // runs still
	r.clock.move(time.Hour)
	if claimed := r.claim(); len(claimed.Settled) != 1 {
		t.Fatalf("%+v: want a skipped run", claimed)
	}
	cmd := "command:echo " + strings.Repeat("long ", 100)
	r.want("the history", r.rows(`SELECT concat_ws('|', id, job_id, job_name, cmd, cmd_is_success, replace(cmd_output, E'\n', '/'), cmd_cost, scheduler_name, c_time) FROM ruqi_jobs_history ORDER BY id`),
		`1|a|name of a|`+cmd+`|t|one/日本/|1.5|host:8585:4242|2026-12-01 08:00:01`,
		`2|a|name of a|`+cmd+`|f||0|host:8585:4242|2026-12-01 09:00:01`,
		`3|a|name of a|`+cmd+`|f||0|host:8585:4242|2026-12-01 10:00:01`,
		`4|a|name of a|`+cmd+`|f||0|host:8585:4242|2026-12-01 11:00:01`,
		`5|a|name of a|`+cmd+`|f||0|host:8585:4242|2026-12-01 12:00:01`)
}

// JSON can hold what no text of PostgreSQL can: U+0000, and half a surrogate pair. The definitions of others stay readable.
func TestAJobWithCharactersThatNoTextCanHoldDoesNotHideTheOthers(t *testing.T) {
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	for _, c := range []struct{ id, spec string }{
		{"a", `{"trigger":{"kind":"tide","at":"\u0000"}}`},
		{"b", `{"trigger":{"kind":"tide\ud800","at":"x\uDFFFy"}}`},
		{"c", `{"trigger":{"kind":"cron","expr":"\ud83d\ude00 \ud83d\ud83d\ude00\ude00 \\u0000 \\\u0000"}}`},
		{"d", `{"note":"\u0000","trigger":{"kind":"interval","every":"90s"}}`},
		{"e", `{"trigger":{"kind":"tide","at":"\\u0000"}}`},
		{"f", `{"\u0000":{"\ud800":[]},"trigger":{"kind":"date","at":"now"}}`},
		{"g", `{"trigger":{"kind":"\u0000","at":`},
	} {
		r.add(c.id, c.spec, true)
	}
	r.want("the jobs", r.rows(`SELECT concat_ws('|', id, job_trigger, job_rule) FROM ruqi_jobs ORDER BY id`),
		`a|tide|{"kind":"tide","at":"\ufffd"}`,
		`b|tide�|{"kind":"tide\ufffd","at":"x\ufffdy"}`,
		"c|cron|😀 �😀� \\u0000 \\�",
		`d|interval|90s`,
		`e|tide|{"kind":"tide","at":"\\u0000"}`,
		`f|date|now`,
		`g`)
}

// The text of an output is its first 4,096 characters, of whatever length in bytes, up to its first NUL; one that is no text is shown with escapes.
func TestOutputOfAnyKindCanBeReadAsText(t *testing.T) {
	r := newReport(t, postgrestest.Shared(t).Schema(t))
	r.add("a", `{}`, false)
	for _, c := range []struct {
		title string
		parts []string
		want  string
	}{
		{"none", nil, ""},
		{"many characters of three bytes", []string{strings.Repeat("日", 3000), strings.Repeat("本", 300_000)}, strings.Repeat("日", 3000) + strings.Repeat("本", 1096)},
		{"many characters of four bytes, the first of one", []string{"x" + strings.Repeat("😀", 10_000)}, "x" + strings.Repeat("😀", 4095)},
		{"more than is kept", []string{strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20)}, strings.Repeat("a", 4096)},
		{"exactly 4,096 characters", []string{strings.Repeat("ü", 4096)}, strings.Repeat("ü", 4096)},
		{"a character that is cut at the end", []string{"ü\xe6\x9c"}, `\303\274\346\234`},
		{"NUL", []string{"one\x00two\n"}, "one"},
		{"NUL at the begin", []string{"\x00two\n"}, ""},
		{"NUL after broken UTF-8", []string{"caf\xe9\n\x00two\n"}, `caf\351` + "\n"},
		{"broken UTF-8", []string{"caf\xe9\n"}, `caf\351` + "\n"},
		{"broken UTF-8 past the characters shown", []string{strings.Repeat("a", 20_000), "\xff"}, strings.Repeat("a", 4096)},
	} {
		t.Run(c.title, func(t *testing.T) {
			run := r.claim().Runs[0]
			r.write(run.ID, c.parts...)
			r.finish(run, ruqi.RunSucceeded)
			r.clock.move(time.Hour)
			var got string
			if err := connectTo(t, r.address).QueryRow(t.Context(), `SELECT cmd_output FROM ruqi_jobs_history WHERE id = $1`, run.ID).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("it is read as %.100q, %d bytes, want %.100q, %d bytes", got, len(got), c.want, len(c.want))
			}
		})
	}
}

// Tables of the names of the views, as the original service has them, are left alone.
func TestTablesOfTheOriginalAreLeftAlone(t *testing.T) {
	server := postgrestest.Shared(t)
	for _, c := range []struct{ taken, free string }{{"ruqi_jobs", "ruqi_jobs_history"}, {"ruqi_jobs_history", "ruqi_jobs"}} {
		t.Run(c.taken, func(t *testing.T) {
			address := server.Schema(t)
			run(t, address, `CREATE TABLE `+c.taken+` (id varchar(255) PRIMARY KEY, mine text)`, `INSERT INTO `+c.taken+` VALUES ('a', 'kept')`)
			r := newReport(t, address)
			r.add("b", `{}`, false)
			r.finish(r.claim().Runs[0], ruqi.RunSucceeded)
			r.want("the table of the name of a view", r.rows(`SELECT id || ' ' || mine FROM `+c.taken), "a kept")
			r.want("the other view", r.rows(`SELECT count(*)::text FROM `+c.free), "1")
		})
	}
}
