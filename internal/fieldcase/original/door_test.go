//go:build unix

package original_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/trigger"
)

// What follows comes by the door that clients of the original know.

const token = "the-token-of-the-tests"

// A door is the API of a node, as old clients see it.
type door struct {
	t     *testing.T
	url   string
	token string
}

func (n *node) door() *door {
	n.s.t.Helper()
	server := httptest.NewServer(httpapi.New(httpapi.Options{
		Operations: n.Scheduler, Instances: n.Scheduler, Ready: n.Ready, Registry: n.registry, Zone: time.UTC, Legacy: &legacy.Settings{},
		Tokens: []httpapi.Token{{Name: "old", Hash: sha256.Sum256([]byte(token))}},
	}))
	n.s.t.Cleanup(server.Close)
	return &door{n.s.t, server.URL, token}
}

// An execution is a row of history.
type execution struct {
	Cmd       string `json:"cmd"`
	Success   bool   `json:"cmd_is_success"`
	Output    string `json:"cmd_output"`
	Scheduler string `json:"scheduler_name"`
}

// ask posts to a path below /ruqi, members in pairs of name and value.
func (d *door) ask(path string, members ...string) (status int, stat, reason string, list []execution) {
	d.t.Helper()
	body := map[string]string{}
	for i := 0; i < len(members); i += 2 {
		body[members[i]] = members[i+1]
	}
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.url+"/ruqi/"+path, strings.NewReader(string(text)))
	if err != nil {
		d.t.Fatal(err)
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer: "+d.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	text, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	if err != nil {
		d.t.Fatal(err)
	}
	var shape struct {
		Stat string
		Data struct{ List []execution }
	}
	if err := json.Unmarshal(text, &shape); err != nil {
		d.t.Fatalf("%s: %v: %s", path, err, text)
	}
	return resp.StatusCode, shape.Stat, resp.Header.Get("x-reason"), shape.Data.List
}

// ok is ask for what must succeed.
func (d *door) ok(path string, members ...string) []execution {
	d.t.Helper()
	status, stat, reason, list := d.ask(path, members...)
	if stat != "OK" {
		d.t.Fatalf("%s %q: %d %s %s", path, members, status, stat, reason)
	}
	return list
}

func (d *door) add(trigger, id, cmd, rule string) {
	d.t.Helper()
	d.ok("add_job", "job_trigger", trigger, "job_id", id, "job_name", "old", "cmd", cmd, "rule", rule)
}

// script writes a file and returns the command that runs it.
func script(t *testing.T, program, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return program + " " + path
}

// OR04: a job that was added by an old client on one node runs on another at once.
func TestAJobAddedByTheOldDoorRunsOnAnotherNode(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	nodes[0].Pause()
	old, other := nodes[0].door(), nodes[1].door()
	cmd := script(t, "python3", "print('hello')")
	old.add("interval", "far", cmd, "1h") // the other has something to wait for
	watch(time.Second)
	old.add("date", "j", cmd, "now")
	s.until(soon, "the job runs", func() bool { return len(nodes[0].rows("j")) == 1 })
	s.until(patience, "it has ended", func() bool { return nodes[0].rows("j")[0].State.Ended() })
	for _, d := range []*door{old, other} {
		if list := d.ok("get_history", "job_id", "j"); len(list) != 1 || !list[0].Success || list[0].Scheduler != "b" || list[0].Output != "hello\n" || list[0].Cmd != cmd {
			t.Errorf("the history is %+v", list)
		}
	}
}

// OR08: what a script writes is read to its end, however much it is.
func TestMuchOutputHoldsNoJob(t *testing.T) {
	const lines = 40_000 // of ten bytes, on each of two pipes
	s := newSite(t)
	n := s.nodes(1, ruqi.Options{})[0]
	old := n.door()
	old.add("date", "j", script(t, "python3", `import sys
for i in range(`+strconv.Itoa(lines)+`):
    print("%09d" % i)
    print("%09d" % i, file=sys.stderr)
`), "now")
	s.until(patience, "it has ended", func() bool { rows := n.rows("j"); return len(rows) == 1 && rows[0].State.Ended() })
	row := n.rows("j")[0]
	if row.State != ruqi.RunSucceeded || row.OutputBytes != 2*10*lines {
		t.Errorf("it is %s, with %d bytes of output: %s", row.State, row.OutputBytes, row.Reason)
	}
	if list := old.ok("get_history", "job_id", "j"); len(list) != 1 || len(list[0].Output) != 4096 {
		t.Errorf("the history is %+v", list)
	}
}

// OR09: at its timeout a job ends with everything that it has started.
func TestATimeoutEndsTheWholeTree(t *testing.T) {
	s := newSite(t)
	n := s.nodes(1, ruqi.Options{})[0]
	old := n.door()
	old.add("interval", "j", script(t, "bash", `sleep 300 &
echo $!
(trap '' TERM; sleep 300 & echo $!; wait) &
sleep 300
`), "1h")
	if _, err := n.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error {
		if job.Policy.Timeout != time.Hour {
			t.Errorf("a script may take %s", job.Policy.Timeout)
		}
		job.Policy.Timeout, job.Policy.KillGrace = 2*time.Second, time.Second
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	run, err := n.RunNow(t.Context(), "j", nil)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = n.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunTimedOut {
		t.Fatalf("it is %s, %v", run.State, err)
	}
	list := old.ok("job_history_list", "job_id", "j", "is_success", "no")
	if len(list) != 1 {
		t.Fatalf("the history is %+v", list)
	}
	children := strings.Fields(list[0].Output)
	if len(children) != 2 {
		t.Fatalf("its children are %q", list[0].Output)
	}
	for _, child := range children {
		pid, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		s.until(soon, "child "+child+" is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}

// OR10: the old door asks for the token, on every node.
func TestTheOldDoorAsksForTheToken(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	nodes[0].add(spec("j", trigger.EveryDuration(time.Hour), work{}, ruqi.Policy{}))
	before := nodes[0].job("j")
	for _, n := range nodes {
		d := n.door()
		for _, d.token = range []string{"", "wrong"} {
			for _, path := range []string{"get_jobs", "get_job", "add_job", "modify_job", "pause_job", "resume_job", "remove_job", "get_history", "status", "wakeup", "job_remove"} {
				if status, stat, reason, _ := d.ask(path, "job_id", "j"); status != http.StatusUnauthorized || stat != "ERR" || reason == "" {
					t.Errorf("%s: %d %s %q", path, status, stat, reason)
				}
			}
		}
	}
	if after := nodes[1].job("j"); after.Version != before.Version || after.State != before.State {
		t.Errorf("the job is %+v", after)
	}
}

// OR15: whoever can write the table gets no code run by what the original would have unpickled, nor by a name that nothing has.
func TestWhatIsWrittenIntoTheTableIsNoCode(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	marked := filepath.Join(t.TempDir(), "marked")
	for id, definition := range map[string]string{
		"pickled":     "cos\nsystem\n(S'touch " + marked + "'\ntR.",
		"reduced":     "\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x05touch\x85R.",
		"by its name": `{"v":1,"trigger":{"kind":"interval","every":"1s","anchor":"2026-01-01T00:00:00Z","zone":"UTC"},"task":{"kind":"func","name":"os.system","args":{"c":"touch ` + marked + `"}}}`,
		"of a kind":   `{"v":1,"trigger":{"kind":"interval","every":"1s","anchor":"2026-01-01T00:00:00Z","zone":"UTC"},"task":{"kind":"pickle","data":"` + marked + `"}}`,
	} {
		nodes[0].add(spec(id, trigger.EveryDuration(time.Second), work{}, ruqi.Policy{}))
		if _, err := nodes[0].PauseJob(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		rows := len(nodes[0].rows(id))
		c := s.connect()
		if _, err := c.Exec(t.Context(), `UPDATE rq_definition SET spec = $2, version = version + 1 WHERE id = $1`, id, []byte(definition)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), `UPDATE rq_job SET state = 0, next_nominal = now(), next_due = now(), rev = rev + 1 WHERE id = $1`, id); err != nil {
			t.Fatal(err)
		}
		watch(2 * time.Second)
		for _, row := range nodes[1].rows(id)[rows:] {
			if row.State == ruqi.RunSucceeded || row.State == ruqi.RunRunning {
				t.Errorf("%s: %+v", id, row)
			}
		}
		if job := nodes[1].job(id); job.Parked == "" && len(nodes[1].rows(id)) == rows {
			t.Errorf("%s: nothing says that it cannot be run: %+v", id, job)
		}
	}
	if _, err := os.Stat(marked); err == nil {
		t.Error("what was written has run")
	}
	nodes[0].add(spec("sound", trigger.Date(time.Now()), work{}, ruqi.Policy{}))
	s.until(soon, "a sound job runs beside them", func() bool { return len(s.starts("sound")) == 1 })
	if list := nodes[1].door().ok("get_jobs"); len(list) < 4 {
		t.Errorf("the old door lists %d jobs", len(list))
	}
	var foreign int
	if err := s.connect().QueryRow(t.Context(), `SELECT count(*) FROM rq_definition WHERE rq_json(spec) IS NULL AND id NOT IN ('pickled', 'reduced')`).Scan(&foreign); err != nil || foreign != 0 {
		t.Errorf("%d definitions are no JSON, %v", foreign, err)
	}
}

// OR16: a date that has passed while its job was paused is not armed again by a resume, on whatever node.
func TestResumingAnExpiredDateRemovesItsJob(t *testing.T) {
	s := newSite(t)
	nodes := s.nodes(2, ruqi.Options{})
	one, other := nodes[0].door(), nodes[1].door()
	one.add("date", "j", script(t, "python3", "print('late')"), time.Now().UTC().Add(2*time.Second).Format("2006-01-02 15:04:05.000000"))
	one.ok("pause_job", "job_id", "j")
	watch(3 * time.Second)
	if status, stat, reason, _ := other.ask("resume_job", "job_id", "j"); status != http.StatusOK || stat != "ERR" || reason != "no next run time" {
		t.Errorf("%d %s %q", status, stat, reason)
	}
	watch(2 * time.Second)
	for _, d := range []*door{one, other} {
		if _, stat, _, _ := d.ask("get_job", "job_id", "j"); stat != "ERR" {
			t.Errorf("it is still there: %s", stat)
		}
	}
	if rows := nodes[0].rows("j"); len(rows) != 0 {
		t.Errorf("it has run: %+v", rows)
	}
}
