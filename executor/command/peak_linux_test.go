package command_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// raisePeak makes the service's own peak larger than that of any program here, so that the system's figure tells nothing.
func raisePeak(t *testing.T) (peak int64) {
	t.Helper()
	ballast := make([]byte, 200<<20)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	runtime.KeepAlive(ballast)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	return own.Maxrss << 10
}

// hold is a script that has 50 MB in its shell, then stays longer than any two looks are apart. Without the last
// word the shell would become the sleep.
const hold = `x=$(head -c 50000000 /dev/zero | tr '\0' x); sleep 1.5; :`

func TestMemoryBelowThatOfTheServiceIsSeen(t *testing.T) {
	own := raisePeak(t)
	for name, task := range map[string]*command.Task{
		"of the program itself":            command.Shell(hold),
		"of a child":                       command.Shell("(" + hold + "); :"),
		"of a child that was not awaited":  command.Shell("(" + hold + ") & sleep 1.5; wait"),
		"of a child in a group of its own": command.Shell("set -m; (" + hold + ") & wait"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := execute(t, task, nil)
			if rss := s.result.MaxRSS; rss < 50_000_000 || rss >= own || rss > 150<<20 {
				t.Errorf("a program that holds 50 MB took %d bytes, %v: %s", rss, s.result.Err, s.output)
			}
		})
	}
}

func TestProgramsAtOnceHaveTheirOwnMemory(t *testing.T) {
	raisePeak(t)
	e := command.New(command.Options{})
	var small []*started
	large := begin(t, e, command.Shell(hold), ruqi.Execution{})
	for range 20 {
		small = append(small, begin(t, e, command.Shell("sleep 1.5"), ruqi.Execution{}))
	}
	for _, s := range small {
		if rss := s.wait(t).result.MaxRSS; rss <= 0 || rss > 40<<20 {
			t.Errorf("a small program took %d bytes", rss)
		}
	}
	if rss := large.wait(t).result.MaxRSS; rss < 50_000_000 {
		t.Errorf("beside small ones a program that holds 50 MB took %d bytes", rss)
	}
}

// A short command is not held up by being looked at.
func TestAShortCommandHasNoMemory(t *testing.T) {
	raisePeak(t)
	e := command.New(command.Options{})
	unknown := 0
	for range 50 {
		s := begin(t, e, command.Argv("true"), ruqi.Execution{}).wait(t)
		if s.result.MaxRSS == 0 {
			unknown++
		} else if s.result.MaxRSS > 40<<20 || s.took < 5*time.Millisecond {
			t.Errorf("in %s true took %d bytes", s.took, s.result.MaxRSS)
		}
	}
	if unknown == 0 {
		t.Error("every one was looked at, however short")
	}
}
