package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// rows reads what a program finds that knows nothing of Ruqi but the names of tables, as maps of JSON.
func rows(t *testing.T, path, query string) (list []map[string]any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = found.Close() }() // Err tells
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		values, places := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			places[i] = &values[i]
		}
		if err := found.Scan(places...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
		}
		list = append(list, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// wantRow compares a row with the text of one as JSON.
func wantRow(t *testing.T, what string, row map[string]any, want string) {
	t.Helper()
	got, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s:\n%s, want\n%s", what, got, want)
	}
}

func TestJobsCanBeReadAsTheOriginalHadThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	c := &clock{now: start}
	s := open(t, path, sqlite.Options{Now: c.Now})
	spec := func(id, trigger string) *ruqi.JobRecord {
		r := record(id, start)
		r.Name, r.Spec = "name of "+id, []byte(trigger)
		return r
	}
	idle := spec("d", `{"trigger":{"kind":"date","at":"2026-12-24T18:00:00+01:00"}}`)
	idle.NextDue, idle.NextNominal = nil, nil
	searched := spec("g", `{"trigger":{"kind":"all"}}`)
	searched.NextNominal = nil // NextDue alone is no fire time
	add(t, s, spec("a", `{"trigger":{"kind":"cron","expr":"30 2 * * *","zone":"UTC"}}`), spec("b", `{"trigger":{"kind":"interval","every":"90s"}}`),
		spec("c", `{"trigger":{"kind":"any","of":[1, 2]}}`), idle, spec("e", `{"trigger":`), spec("f", `[]`), searched)
	if running(t, s, beat(t, s, "one")).JobID != "a" {
		t.Fatal("another job than a runs")
	}
	all := rows(t, path, `SELECT * FROM ruqi_jobs ORDER BY id`)
	for i, want := range []string{
		`{"c_time":"2026-12-01 08:00:00","id":"a","job_lock":1,"job_name":"name of a","job_rule":"30 2 * * *","job_state":"{\"trigger\":{\"kind\":\"cron\",\"expr\":\"30 2 * * *\",\"zone\":\"UTC\"}}","job_trigger":"cron","next_run_time":1796115600.123456,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"b","job_lock":0,"job_name":"name of b","job_rule":"90s","job_state":"{\"trigger\":{\"kind\":\"interval\",\"every\":\"90s\"}}","job_trigger":"interval","next_run_time":1796112000.123456,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"c","job_lock":0,"job_name":"name of c","job_rule":"{\"kind\":\"any\",\"of\":[1,2]}","job_state":"{\"trigger\":{\"kind\":\"any\",\"of\":[1, 2]}}","job_trigger":"any","next_run_time":1796112000.123456,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"d","job_lock":0,"job_name":"name of d","job_rule":"2026-12-24T18:00:00+01:00","job_state":"{\"trigger\":{\"kind\":\"date\",\"at\":\"2026-12-24T18:00:00+01:00\"}}","job_trigger":"date","next_run_time":null,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"e","job_lock":0,"job_name":"name of e","job_rule":null,"job_state":"{\"trigger\":","job_trigger":null,"next_run_time":1796112000.123456,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"f","job_lock":0,"job_name":"name of f","job_rule":null,"job_state":"[]","job_trigger":null,"next_run_time":1796112000.123456,"u_time":"2026-12-01 08:00:00"}`,
		`{"c_time":"2026-12-01 08:00:00","id":"g","job_lock":0,"job_name":"name of g","job_rule":"{\"kind\":\"all\"}","job_state":"{\"trigger\":{\"kind\":\"all\"}}","job_trigger":"all","next_run_time":null,"u_time":"2026-12-01 08:00:00"}`,
	} {
		if i >= len(all) {
			t.Fatalf("only %d jobs", len(all))
		}
		wantRow(t, "the job "+fmt.Sprint(all[i]["id"]), all[i], want)
	}
}

// JSON can hold U+0000 and half a surrogate pair.
func TestAJobWithCharactersThatNoTextCanHoldDoesNotHideTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	s := open(t, path, sqlite.Options{Now: (&clock{now: start}).Now})
	for id, spec := range map[string]string{
		"a": `{"trigger":{"kind":"tide","at":"\u0000"}}`, "b": `{"trigger":{"kind":"tide","at":"\ud800"}}`,
		"c": `{"trigger":{"kind":"x\u0000y"}}`, "d": `{"trigger":{"kind":"x\ud800y"}}`, "e": `{"trigger":{"kind":"cron","expr":"\\u0000"}}`,
	} {
		r := record(id, start)
		r.Spec = []byte(spec)
		add(t, s, r)
	}
	all := rows(t, path, `SELECT id, job_trigger, job_rule FROM ruqi_jobs ORDER BY id`)
	if len(all) != 5 {
		t.Fatalf("%d jobs, want 5", len(all))
	}
	for i, want := range []string{
		`{"id":"a","job_rule":"{\"kind\":\"tide\",\"at\":\"\\u0000\"}","job_trigger":"tide"}`,
		`{"id":"b","job_rule":"{\"kind\":\"tide\",\"at\":\"\\ud800\"}","job_trigger":"tide"}`,
		`{"id":"c","job_rule":"{\"kind\":\"x\\u0000y\"}","job_trigger":"x\u0000y"}`,
		`{"id":"d","job_rule":"{\"kind\":\"x\\ud800y\"}","job_trigger":"x\ufffd\ufffd\ufffdy"}`, // three bytes that are no UTF-8
		`{"id":"e","job_rule":"\\u0000","job_trigger":"cron"}`,
	} {
		wantRow(t, "a job", all[i], want)
	}
}

func TestHistoryCanBeReadAsTheOriginalHadIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	c := &clock{now: start}
	s := open(t, path, sqlite.Options{Now: c.Now})
	owner := beat(t, s, "host:8585:4242")
	add(t, s, record("a", start))
	write := func(run ruqi.Run, parts ...string) {
		t.Helper()
		at := int64(0)
		for _, part := range parts {
			if late, err := s.WriteRuns(t.Context(), owner, []ruqi.RunUpdate{{ID: run.ID, At: at, Output: []byte(part)}}); err != nil || len(late) > 0 {
				t.Fatal(late, err)
			}
			at += int64(len(part))
		}
	}
	end := func(run ruqi.Run, state ruqi.RunState) {
		t.Helper()
		run.State = state
		if late, err := s.Finish(t.Context(), owner, []ruqi.Done{{Run: run}}); err != nil || len(late) > 0 {
			t.Fatal(late, err)
		}
		c.Move(time.Hour)
	}
	first := running(t, s, owner)
	write(first, "one\n", "日\xe6", "\x9c\xac\n") // a character in two writes
	c.Move(1500 * time.Millisecond)
	end(first, ruqi.RunSucceeded)
	second := running(t, s, owner)
	write(second, strings.Repeat("日", 3000), strings.Repeat("本", 300_000))
	end(second, ruqi.RunFailed)
	running(t, s, owner) // runs still
	c.Move(time.Hour)
	if claimed, err := s.Claim(t.Context(), request(owner, 1), fire(time.Hour)); err != nil || len(claimed.Settled) != 1 {
		t.Fatalf("%+v, %v", claimed, err) // a skipped one
	}
	all := rows(t, path, `SELECT * FROM ruqi_jobs_history ORDER BY id`)
	if len(all) != 2 {
		t.Fatalf("%d finished executions, want 2: %v", len(all), all)
	}
	wantRow(t, "the first run", all[0], `{"c_time":"2026-12-01 08:00:01","cmd":"func:noop","cmd_cost":1.5,"cmd_is_success":1,"cmd_output":"one\n日本\n","id":1,"job_id":"a","job_name":"a","scheduler_name":"host:8585:4242"}`)
	if got, want := all[1]["cmd_output"], strings.Repeat("日", 3000)+strings.Repeat("本", 1096); got != want {
		t.Errorf("of the long output %d bytes came, want 4096 characters, which are %d", len(fmt.Sprint(got)), len(want))
	}
	if all[1]["cmd_is_success"] != int64(0) {
		t.Errorf("the failed run has cmd_is_success %v", all[1]["cmd_is_success"])
	}
}

func TestAFileOfTheFirstSchemaIsBroughtUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	if err := sqlite.Make(t.Context(), path, 1); err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{
		`CREATE TABLE ruqi_jobs (id TEXT, mine TEXT)`, `INSERT INTO ruqi_jobs VALUES ('a', 'kept')`,
		`INSERT INTO rq_instance (name, epoch, started, beat, lease_until, lease, state, release, zones) VALUES ('old', 1, 0, 0, 0, 0, 'running', 'v0', '')`,
	} {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path, sqlite.Options{})
	add(t, s, record("b", start))
	wantRow(t, "the table of the name of a view", rows(t, path, `SELECT * FROM ruqi_jobs`)[0], `{"id":"a","mine":"kept"}`)
	if n := len(rows(t, path, `SELECT * FROM ruqi_jobs_history`)); n != 0 {
		t.Errorf("%d finished executions", n)
	}
	all, err := s.Instances(t.Context())
	if err != nil || len(all) != 1 || all[0].ClockOffset != nil {
		t.Errorf("the instance of before: %+v, %v", all, err)
	}
}
