//go:build linux

package fieldcase_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/trigger"
)

// peak is the most memory that the service has held, in bytes.
func (s *service) peak() int64 {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kib << 10
}

// ran runs a job to its end.
func (s *service) ran(id string) ruqi.Run {
	s.t.Helper()
	run, err := s.RunNow(s.t.Context(), id, nil)
	if err == nil {
		run, err = s.WaitRun(s.t.Context(), run.ID)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// logs is what "ruqi run logs" writes.
func (s *service) logs(run int64) []byte {
	s.t.Helper()
	path, err := program()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), path, "run", "logs", fmt.Sprint(run))
	cmd.Env = []string{"RUQI_SERVER=" + s.address, "RUQI_DATA_DIR=" + s.dir}
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// OU03, OU05, OU07: a flood of output is cut, ends in good time, is not held in memory, and makes no other job late.
func TestAFloodOfOutputIsCutAndHurtsNobody(t *testing.T) {
	const (
		period = 100 * time.Millisecond
		// A second is the promise; the rest is for a machine that does other things.
		most = 10 * time.Second
		keep = 1 << 20
		// room is what the service may need for it all: some buffers and twice what is kept, and not what was written.
		room = 40 << 20
	)
	s := serve(t)
	often := s.add("often", trigger.EveryDuration(period), command.Argv("true"), ruqi.Policy{MaxInstances: 5, Coalesce: ptr(false)})
	s.add("small", trigger.EveryDuration(time.Hour), command.Shell("echo small"), ruqi.Policy{})
	s.ran("small")
	before := s.peak()
	for _, test := range []struct {
		id, text string
		bytes    int64
		state    ruqi.RunState
		reason   string
	}{
		{"50 MB", "yes | head -c 50000000", 50_000_000, ruqi.RunSucceeded, ""},
		// 100,000 lines a second for five seconds, were the machine to do nothing else.
		{"500,000 lines", "seq -f %09.0f 500000", 5_000_000, ruqi.RunSucceeded, ""},
		{"one line without an end", "head -c 20000000 /dev/zero", 20_000_000, ruqi.RunSucceeded, ""},
		{"standard error and a failure", "yes error | head -c 3000000 >&2; exit 1", 3_000_000, ruqi.RunFailed, "exit status 1"},
	} {
		s.add(test.id, trigger.EveryDuration(time.Hour), command.Shell(test.text), ruqi.Policy{})
		run := s.ran(test.id)
		if run.State != test.state || run.Reason != test.reason || run.OutputBytes != test.bytes || !run.OutputCut {
			t.Errorf("%s: %+v", test.id, run)
		}
		if took := run.Finished.Sub(*run.Started); took > patience {
			t.Errorf("%s: it took %s", test.id, took)
		}
		kept := s.logs(run.ID)
		if len(kept) < keep || len(kept) > keep+1024 {
			t.Errorf("%s: %d bytes are kept", test.id, len(kept))
		}
		if test.id == "500,000 lines" && (!bytes.HasPrefix(kept, []byte("000000001\n")) || !bytes.HasSuffix(kept, []byte("000500000\n"))) {
			t.Errorf("its first and last lines are lost: %q … %q", kept[:20], kept[len(kept)-20:])
		}
	}
	if grown := s.peak() - before; grown > room {
		t.Errorf("the service took %d MB more", grown>>20)
	}
	if _, err := s.PauseJob(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
	rows, worst := s.rows("often"), time.Duration(0)
	covered(t, rows, often.NextNominal.Add(-period), time.Time{}, period)
	for i := range rows {
		if rows[i].Started != nil {
			worst = max(worst, rows[i].Started.Sub(rows[i].Due))
		}
	}
	t.Logf("%d fires beside it, the latest by %s", len(rows), worst)
	if worst > most || len(rows) < 3 {
		t.Errorf("of %d fires beside it the latest started %s late", len(rows), worst)
	}
}

// OU01: what a command wrote is kept to the byte, codes of terminals included, and written so again.
func TestAnyBytesOfOutputAreKeptAsTheyAre(t *testing.T) {
	var every []byte
	for b := range 256 {
		every = append(every, byte(b))
	}
	every = append(every, "\x1b[31mred\x1b[0m\r\x1b]0;title\a\xc3\x28\xff\xfe\x00 \u202e end without a newline"...)
	file := filepath.Join(t.TempDir(), "bytes")
	if err := os.WriteFile(file, every, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	s.add("x", trigger.EveryDuration(time.Hour), command.Argv("cat", file), ruqi.Policy{})
	run := s.ran("x")
	if run.State != ruqi.RunSucceeded || run.OutputBytes != int64(len(every)) || run.OutputCut {
		t.Errorf("it is %+v", run)
	}
	part, err := s.Output(t.Context(), run.ID, 0, 1<<20)
	if err != nil || !bytes.Equal(part.Bytes, every) {
		t.Errorf("the API has %q, %v", part.Bytes, err)
	}
	if got := s.logs(run.ID); !bytes.Equal(got, every) {
		t.Errorf("the command line has %q", got)
	}
}
