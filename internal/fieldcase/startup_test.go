//go:build linux

package fieldcase_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/trigger"
)

// kill ends the service as a loss of power would.
func (s *service) kill() {
	s.t.Helper()
	s.Kill()
	s.Close()
}

// linesOf counts the lines of a file, 0 as long as there is none.
func linesOf(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// A job for @reboot, as it stands in a crontab, runs once with each start of the service, and not when it is added: also after the
// service was killed in the middle of such a run.
func TestAJobForRebootRunsOnceWithEachStart(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	s := serveIn(t, dir)
	s.add("boot", trigger.Crontab("@reboot"), command.Shell("echo started >>'"+log+"'; while [ ! -e '"+log+".go' ]; do sleep 0.05; done"), ruqi.Policy{RunOnStart: true, Overlap: ruqi.OverlapAllow})
	if rows := s.rows("boot"); len(rows) != 0 {
		t.Fatalf("added, it has %d runs", len(rows))
	}
	for n := 1; n <= 2; n++ {
		s.kill()
		s = serveIn(t, dir)
		s.eventually("the start has its run, which runs and has written its line", func() bool {
			rows := s.rows("boot")
			return len(rows) == n && rows[n-1].State == ruqi.RunRunning && rows[n-1].Cause == ruqi.CauseStartup && linesOf(t, log) == n
		})
	}
	if err := os.WriteFile(log+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("the run of the second start ends, and that of the first is known to be lost", func() bool {
		rows := s.rows("boot")
		return len(rows) == 2 && rows[0].State == ruqi.RunLost && rows[1].State == ruqi.RunSucceeded
	})
	if got := linesOf(t, log); got != 2 {
		t.Errorf("it was run %d times", got)
	}
	job, err := s.Job(t.Context(), "boot")
	if err != nil || job.State != ruqi.JobActive || job.NextDue != nil || !job.Created.Before(time.Now()) {
		t.Errorf("the job is %+v, %v", job, err)
	}
}
