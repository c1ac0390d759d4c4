package legacy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/trigger"
)

// run adds a job that does nothing by itself, runs it, and waits for its end.
func (s *site) run(id, name string, what speech) ruqi.Run {
	s.t.Helper()
	_, _, err := s.AddJob(s.t.Context(), ruqi.JobSpec{ID: id, Name: name, Trigger: trigger.EveryDuration(24 * time.Hour), Task: ruqi.Call("say", what)}, ruqi.Keep)
	if err != nil {
		s.t.Fatal(err)
	}
	run, err := s.RunNow(s.t.Context(), id, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if what.Waits {
		s.until("the run runs", func() bool {
			run, err = s.FindRun(s.t.Context(), run.ID)
			return err == nil && run.State == ruqi.RunRunning
		})
		if _, err = s.CancelRun(s.t.Context(), run.ID, "tester"); err != nil {
			s.t.Fatal(err)
		}
	}
	if run, err = s.WaitRun(s.t.Context(), run.ID); err != nil {
		s.t.Fatal(err)
	}
	return run
}

func TestARowOfHistory(t *testing.T) {
	s := serve(t, legacy.Settings{})
	run := s.run("a/b", "名", speech{Text: []byte("hello\n")})
	cost := fmt.Sprintf("%.6f", run.Finished.Sub(*run.Started).Seconds())
	want := fmt.Sprintf(`{"id":%d,"job_id":"a/b","job_name":"名","cmd":"say{\"Text\":\"aGVsbG8K\",\"Times\":0,\"Fail\":false,\"Waits\":false}","cmd_is_success":true,"cmd_output":"hello\n","cmd_cost":%s,"scheduler_name":"host-a:8585:4242","c_time":%q}`,
		run.ID, cost, run.Finished.In(shanghai(t)).Format("2006-01-02 15:04:05"))
	for _, path := range []string{"/ruqi/get_history", "/ruqi/job_history_list", "/ruqi/get_history?job_id=a/b&job_name=名&page_index=1", "/ruqi/job_history_list?is_success=yes"} {
		if a := s.do("GET", strings.ReplaceAll(path, "名", "%E5%90%8D"), ""); a.text != `{"stat":"OK","data":{"total":1,"list":[`+want+"]}}\n" {
			t.Errorf("%s: %s, want %s", path, a.text, want)
		}
	}
	if err := s.RemoveJob(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	if a := s.do("GET", "/ruqi/get_history?job_id=a/b", ""); !strings.Contains(a.text, want) {
		t.Errorf("of a job that is gone: %s", a.text)
	}
}

// The history is of executions that have ended: what was missed, skipped, waits or runs is not in it.
func TestHistoryHoldsFinishedExecutionsOnly(t *testing.T) {
	s := serve(t, legacy.Settings{})
	s.run("good", "n", speech{})
	s.run("bad", "n", speech{Fail: true})
	s.run("stopped", "n", speech{Waits: true})
	s.run("good", "n", speech{})
	past := time.Now().In(shanghai(t)).Add(-time.Hour).Format("2006-01-02 15:04:05")
	s.add("OK", "date", "missed", "n", "python "+s.script, past)
	s.runs("missed", 1)
	_, _, err := s.AddJob(t.Context(), ruqi.JobSpec{ID: "runs", Name: "n", Trigger: trigger.Date(time.Now()), Task: ruqi.Call("say", speech{Waits: true})}, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	s.until("it runs", func() bool { status, err := s.Status(t.Context()); return err == nil && status.Running == 1 })
	for query, want := range map[string]string{
		"":                            "good stopped bad good/4",
		"?job_name=n":                 "good stopped bad good/4",
		"?job_id=good":                "good good/2",
		"?job_id=good&job_name=other": "/0",
		"?job_id=missed":              "/0",
		"?job_id=runs":                "/0",
		"?page_index=1&page_size=3":   "good stopped bad/4",
		"?page_index=2&page_size=3":   "good/4",
		"?page_index=3&page_size=3":   "/4",
		"?is_success=":                "good stopped bad good/4",
		"?is_success=yes":             "good good/2",
		"?is_success=no":              "stopped bad/2",
		"?is_success=no&job_id=bad":   "bad/1",
		"?is_success=yes&job_id=bad":  "/0",
		"?is_success=no&page_index=2&page_size=1&job_name=n": "bad/2",
	} {
		rows, total := s.list("/ruqi/job_history_list" + query)
		if got := fmt.Sprintf("%s/%d", ids(rows), total); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		for _, r := range rows {
			if success := strings.HasPrefix(r.text("job_id"), "good"); r["cmd_is_success"] != success {
				t.Errorf("%s: %v", query, r)
			}
		}
	}
	for _, path := range []string{"/ruqi/job_history_list?is_success=maybe", "/ruqi/job_history_list?is_success=YES", "/ruqi/get_history?is_success=yes", "/ruqi/get_history?page_index=-1"} {
		if a := s.do("GET", path, ""); a.stat != "ERR_BAD_PARAMS" {
			t.Errorf("%s: %s", path, a.text)
		}
	}
}

func TestOutputIsCutBetweenCharacters(t *testing.T) {
	s := serve(t, legacy.Settings{})
	for i, c := range []struct {
		title, wrote string
		times        int
		want         string
	}{
		{"nothing", "", 1, ""},
		{"as many as are shown", strings.Repeat("x", 4096), 1, strings.Repeat("x", 4096)},
		{"one more", strings.Repeat("x", 4096) + "y", 1, strings.Repeat("x", 4096)},
		{"characters of two bytes", strings.Repeat("é", 5000), 1, strings.Repeat("é", 4096)},
		{"characters of three bytes", strings.Repeat("名", 5000), 1, strings.Repeat("名", 4096)},
		{"characters of four bytes", strings.Repeat("𝄞", 5000), 1, strings.Repeat("𝄞", 4096)},
		{"a shift of one byte", "x" + strings.Repeat("𝄞", 5000), 1, "x" + strings.Repeat("𝄞", 4095)},
		{"NUL and bytes that are no text", "a\x00b\xffc", 1, "a\uFFFDb\uFFFDc"},
		{"half a character at its end", "a\xe5\x90", 1, "a\uFFFD"},
		{"more than is kept", "0123456789", 300_000, strings.Repeat("0123456789", 410)[:4096]},
		{"terminal codes and line ends", "\x1b[31mred\r\n\"quoted\"\\", 1, "\x1b[31mred\r\n\"quoted\"\\"},
	} {
		id := fmt.Sprint("j", i)
		s.run(id, id, speech{Text: []byte(c.wrote), Times: c.times})
		if got := s.history(id, 1)[0].text("cmd_output"); got != c.want {
			t.Errorf("%s: %d bytes, %.60q, want %d, %.60q", c.title, len(got), got, len(c.want), c.want)
		}
	}
}

// OR07: a command of any length keeps its history, and comes back as it was sent.
func TestALongCommandComesBackWhole(t *testing.T) {
	s := serve(t, legacy.Settings{})
	cmd := "python3 " + s.script + " " + strings.Repeat("long ", 500) + "'a  b'"
	s.add("OK", "date", "j", strings.Repeat("名", 255), cmd, "now")
	if row := s.history("j", 1)[0]; row["cmd"] != cmd || row["cmd_is_success"] != true || row["job_name"] != strings.Repeat("名", 255) {
		t.Errorf("%v", row)
	}
}

// long is a history of so many rows.
type long struct {
	ruqi.Operations
	rows   int
	limits []int
}

func (l *long) Runs(_ context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	l.limits = append(l.limits, query.Limit)
	from := 0
	if query.Cursor != "" {
		if _, err := fmt.Sscan(query.Cursor, &from); err != nil {
			return ruqi.RunPage{}, err
		}
	}
	total := int64(l.rows)
	page := ruqi.RunPage{Total: &total}
	for i := from; i < min(from+query.Limit, l.rows); i++ {
		page.Runs = append(page.Runs, ruqi.Run{ID: int64(l.rows - i), State: ruqi.RunSucceeded})
	}
	if next := from + query.Limit; next < l.rows {
		page.Next = fmt.Sprint(next)
	}
	return page, nil
}

// Without a page every row is sent, up to ten thousand.
func TestAllOfAHistoryHasABound(t *testing.T) {
	l := &long{}
	s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { l.Operations = o.Operations; o.Operations = l })
	for rows, want := range map[int]int{0: 0, 1: 1, 1000: 1000, 1001: 1001, 9999: 9999, 10000: 10000, 12345: 10000} {
		l.rows = rows
		list, total := s.list("/ruqi/get_history")
		if len(list) != want || total != rows {
			t.Errorf("of %d rows %d are sent, as %d", rows, len(list), total)
		}
		for i, r := range list {
			if r["id"] != float64(rows-i) {
				t.Fatalf("row %d is %v", i, r["id"])
			}
		}
	}
	for _, limit := range l.limits {
		if limit > ruqi.MaxPage {
			t.Errorf("a page of %d", limit)
		}
	}
}

// body returns what a reading request is answered, as far as it came, and why it came no further.
func (s *site) body(path string) (string, error) {
	s.t.Helper()
	req, err := s.request("GET", path, "")
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// A list that breaks off in its middle, by an error or a panic, is not taken for a whole one.
func TestABrokenListIsNoAnswer(t *testing.T) {
	for name, breaks := range map[string]func() error{
		"broken off":       func() error { return ruqi.ErrUnavailable },
		"request panicked": func() error { panic("of the store") },
	} {
		b := &breaking{long: &long{rows: 5000}, breaks: breaks}
		s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { o.Operations = b })
		text, err := s.body("/ruqi/get_history")
		if !errors.Is(err, io.ErrUnexpectedEOF) || json.Valid([]byte(text)) || !strings.HasPrefix(text, `{"stat":"OK"`) {
			t.Errorf("%s: it ends with %v after %d bytes", name, err, len(text))
		}
		if !strings.Contains(s.log.String(), name) {
			t.Errorf("%s: the log does not say so", name)
		}
	}
}

type breaking struct {
	*long
	breaks func() error
}

func (b *breaking) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	if query.Cursor == "3000" {
		return ruqi.RunPage{}, b.breaks()
	}
	return b.long.Runs(ctx, query)
}

func TestNamesOfSchedulers(t *testing.T) {
	for instance, want := range map[string]string{
		"host-a:8585:4242:abc234": "host-a:8585:4242", "host-a:4242:abc234": "host-a:4242", "mine": "mine", "a:b:c": "a:b:c", "": "",
		"host:8585:4242": "host:8585:4242", "host:1:abcdefg": "host:1:abcdefg", "x:abc234": "x:abc234",
	} {
		l := &named{instance: instance}
		s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { o.Operations = l })
		if list, _ := s.list("/ruqi/get_history"); list[0]["scheduler_name"] != want {
			t.Errorf("%q is %v, want %q", instance, list[0]["scheduler_name"], want)
		}
	}
}

type named struct {
	ruqi.Operations
	instance string
}

func (n *named) Runs(context.Context, ruqi.RunQuery) (ruqi.RunPage, error) {
	started := time.Now()
	finished := started.Add(time.Second)
	return ruqi.RunPage{Runs: []ruqi.Run{{ID: 1, Owner: ruqi.Owner{Instance: n.instance}, Started: &started, Finished: &finished}}}, nil
}

// A whole number of seconds is written as a float, too.
func TestACostIsAFloat(t *testing.T) {
	s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { o.Operations = &named{} })
	if a := s.do("GET", "/ruqi/get_history", ""); !regexp.MustCompile(`"cmd_cost":1\.000000,`).MatchString(a.text) {
		t.Error(a.text)
	}
}

// A cleaned history loses its outputs while its pages are read.
type cleaned struct{ *long }

func (c *cleaned) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	page, err := c.long.Runs(ctx, query)
	for i := range page.Runs {
		page.Runs[i].OutputBytes = 1
	}
	return page, err
}

func (c *cleaned) Output(context.Context, int64, int64, int) (ruqi.OutputPart, error) {
	return ruqi.OutputPart{}, ruqi.ErrNotFound
}

func TestARowThatIsCleanedAwayMeanwhileSpoilsNoList(t *testing.T) {
	s := idle(t, legacy.Settings{}, func(o *httpapi.Options) { o.Operations = &cleaned{&long{rows: 3}} })
	text, err := s.body("/ruqi/get_history?page_index=1")
	if err != nil || !strings.Contains(text, `"stat":"OK"`) || strings.Count(text, `"cmd_output":""`) != 3 {
		t.Errorf("the list is %s, %v", text, err)
	}
}
