//go:build linux

package fieldcase_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/internal/programtest"
	"github.com/ruqi-dev/ruqi/internal/said"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger"
)

// patience is for what takes a second or less on an idle machine.
const patience = 30 * time.Second

var binDir string

func TestMain(m *testing.M) {
	var err error
	if binDir, err = os.MkdirTemp("", "ruqi-fieldcase-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(binDir)
	os.Exit(status)
}

// program builds the real program once.
var program = sync.OnceValues(func() (string, error) { return programtest.Build(binDir) })

// A service is the real program in a process of its own.
type service struct {
	*client.Client
	*programtest.Process
	t       *testing.T
	dir     string // data
	address string
	log     *said.Text
}

// serve starts the program on a directory of its own, with nothing but PATH in its environment.
func serve(t *testing.T, flags ...string) *service {
	t.Helper()
	return serveIn(t, t.TempDir(), flags...)
}

// serveIn is serve on a directory that an earlier one may have used.
func serveIn(t *testing.T, dir string, flags ...string) *service {
	t.Helper()
	return serveBy(t, nil, dir, flags...)
}

// serveBy is serveIn by way of another program; nil: none.
func serveBy(t *testing.T, by []string, dir string, flags ...string) *service {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, dir: dir}
	line := append(by, append([]string{path, "serve", "--data-dir", s.dir, "--listen", "127.0.0.1:0", "--tz", "UTC", "--drain", "0"}, flags...)...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	s.log = &said.Text{}
	cmd.Stderr = s.log
	if s.Process, err = programtest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("log of the service:\n%s", s.log)
		}
	})
	if s.address, err = s.Address(patience); err != nil {
		t.Fatalf("%v: %s", err, s.log)
	}
	token, err := programtest.Token(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Client, err = client.New(s.address, token, standard.Registry(standard.Options{}), client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (s *service) add(id string, tr ruqi.Trigger, task ruqi.Task, policy ruqi.Policy) ruqi.Job {
	s.t.Helper()
	job, _, err := s.AddJob(s.t.Context(), ruqi.JobSpec{ID: id, Trigger: tr, Task: task, Policy: policy}, ruqi.Fail)
	if err != nil {
		s.t.Fatal(err)
	}
	return job
}

// rows returns a job's history, oldest first.
func (s *service) rows(job string) []ruqi.Run {
	s.t.Helper()
	return history(s.t, s, job)
}

// eventually asks until ok; what another process does has no event here.
func (s *service) eventually(what string, ok func() bool) {
	s.t.Helper()
	limit, tick := time.NewTimer(patience), time.NewTicker(20*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit.C:
			s.t.Fatalf("not within %s: %s", patience, what)
		case <-tick.C:
		}
	}
}

// cpu is what the service has used, in user and system mode.
func (s *service) cpu() time.Duration {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime of proc(5), which counts from 1 with the pid
		n, err := strconv.Atoi(string(field))
		if err != nil {
			s.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ
}

// CR03, CR09, CR11, CR13: no expression makes the service spin or end; it refuses those that cannot be, with the field.
func TestOddExpressionsLeaveTheServiceIdle(t *testing.T) {
	s := serve(t)
	for _, expr := range []string{"15/0 * * * *", "*/0 * * * *", "TZ=TZ=TZ=", "CRON_TZ=UTC", "0 0 31 2 *", "0 0 31 4 *"} {
		begin := time.Now()
		definition := fmt.Sprintf(`{"id":"x","trigger":{"kind":"cron","expr":%q},"task":{"kind":"command","command":"true"}}`, expr)
		_, _, err := s.AddDefinition(t.Context(), []byte(definition), ruqi.Fail)
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/trigger/expr" {
			t.Errorf("%s: %v", expr, err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("%s: refused after %s", expr, took)
		}
	}
	if page, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err != nil || page.Total != 0 {
		t.Fatalf("%d jobs, %v", page.Total, err)
	}
	for i := range 20 {
		job := s.add(fmt.Sprint("weekend", i), trigger.Crontab("45 4 * * 6-7"), command.Argv("true"), ruqi.Policy{})
		if next := job.NextNominal; next == nil || !next.After(time.Now()) || next.Weekday() != time.Saturday && next.Weekday() != time.Sunday || next.Hour() != 4 || next.Minute() != 45 {
			t.Errorf("the next time is %v", next)
		}
	}
	// A service that spins is never idle; a quiet one may meet a busy machine once.
	const idle, looks = 5 * time.Second, 6
	for range looks {
		before := s.cpu()
		<-time.After(idle)
		used := s.cpu() - before
		t.Logf("%s of CPU in %s", used, idle)
		if used <= idle/50 {
			return
		}
	}
	t.Errorf("%d times of %s it used more than 2 %% of a core", looks, idle)
}

// MF01, CK07: a service that gets no time over a due time runs what was due, once.
func TestAServiceThatIsStoppedOverADueTime(t *testing.T) {
	s := serve(t)
	due := time.Now().Add(2 * time.Second)
	s.add("date", trigger.Date(due), command.Argv("true"), ruqi.Policy{})
	often := s.add("often", trigger.EveryDuration(500*time.Millisecond), command.Argv("true"), ruqi.Policy{MaxInstances: 3})
	s.eventually("the first run", func() bool { return len(s.rows("often")) > 0 })
	if err := s.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(due.Add(time.Second)))
	if err := s.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.eventually("the date's run", func() bool {
		rows := s.rows("date")
		return len(rows) == 1 && rows[0].State == ruqi.RunSucceeded
	})
	if row := s.rows("date")[0]; row.Started.Sub(due) < time.Second-50*time.Millisecond {
		t.Errorf("it was started %s late: the service was not stopped", row.Started.Sub(due))
	}
	covered(t, s.rows("often"), often.NextNominal.Add(-500*time.Millisecond), time.Time{}, 500*time.Millisecond)
	for _, row := range s.rows("often") {
		if row.State.Ended() && row.State != ruqi.RunSucceeded {
			t.Errorf("the run of %s is %s: %s", row.Nominal, row.State, row.Reason)
		}
	}
}

// WK05, DB07: a date that was a second ahead when it was written, and is past when it arrives, runs at once, and stays
// exact to the microsecond.
func TestADateThatPassesOnItsWayRunsAtOnce(t *testing.T) {
	s := serve(t)
	sent := time.Now()
	s.add("date", trigger.Date(sent.Add(-time.Second)), command.Argv("true"), ruqi.Policy{})
	s.eventually("its run", func() bool {
		rows := s.rows("date")
		return len(rows) == 1 && rows[0].State == ruqi.RunSucceeded
	})
	row := s.rows("date")[0]
	if late := row.Started.Sub(sent); late > 5*time.Second {
		t.Errorf("it was started %s after it arrived", late)
	}
	if want := sent.Add(-time.Second).Truncate(time.Microsecond); !row.Nominal.Equal(want) {
		t.Errorf("it is of %s, want %s", row.Nominal, want)
	}
}

// WK07: a job that adds another, due a second later, by the API.
func TestACommandAddsAJob(t *testing.T) {
	s := serve(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	parent := command.Shell(`exec "$RUQI" job add child --every 1s --max-runs 1 -- true`).WithEnv(map[string]string{
		"RUQI": path, "RUQI_SERVER": s.address, "RUQI_DATA_DIR": s.dir,
	})
	s.add("parent", trigger.Date(time.Now().Add(time.Second)), parent, ruqi.Policy{})
	s.eventually("the child's run", func() bool {
		rows := s.rows("child")
		return len(rows) == 1 && rows[0].State == ruqi.RunSucceeded
	})
	rows := s.rows("parent")
	if len(rows) != 1 || rows[0].State != ruqi.RunSucceeded {
		t.Fatalf("the parent's rows are %+v", rows)
	}
	child := s.rows("child")[0]
	if late, apart := child.Started.Sub(child.Nominal), child.Nominal.Sub(*rows[0].Started); late < 0 || late > 3*time.Second || apart < time.Second || apart > 4*time.Second {
		t.Errorf("the child was due %s after its parent and started %s late", apart, late)
	}
}

// CM01, CM07: a percent sign is itself in a command, and a service without an environment gives its commands one.
func TestACommandIsNoLineOfACrontab(t *testing.T) {
	s := serve(t)
	s.add("now", trigger.EveryDuration(time.Hour), command.Shell(`set -u; cd ~ && cd - >/dev/null; echo "$USER $LOGNAME $SHELL" >/dev/null; date "+%H:%M"`), ruqi.Policy{})
	run, err := s.RunNow(t.Context(), "now", nil)
	if err == nil {
		run, err = s.WaitRun(t.Context(), run.ID)
	}
	if err != nil || run.State != ruqi.RunSucceeded {
		t.Fatalf("the run is %+v, %v", run, err)
	}
	part, err := s.Output(t.Context(), run.ID, 0, 1024)
	if err != nil || !regexp.MustCompile(`^\d\d:\d\d\n$`).Match(part.Bytes) {
		t.Errorf("the output is %q, %v", part.Bytes, err)
	}
}
