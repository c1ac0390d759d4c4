//go:build unix

package cli_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/programtest"
	"github.com/ruqi-dev/ruqi/internal/said"
)

// binDir holds the program that the tests build once.
var binDir string

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // folders of tests are data directories, which nobody else is to write in
	var err error
	if binDir, err = os.MkdirTemp("", "ruqi-cli-test"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(binDir)
	os.Exit(status)
}

var build = sync.OnceValues(func() (string, error) { return programtest.Build(binDir) })

// A service is the real program, serving in a process of its own.
type service struct {
	*programtest.Process
	t   *testing.T
	dir string // data directory
	url string
	log *said.Text
}

const patience = 30 * time.Second // for what takes a second or less on an idle machine

// program returns the real program with these arguments and this data directory, not yet
// started, with a clean environment.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	// A context of its own: the test's ends before its clean-ups.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"RUQI_DATA_DIR=" + dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// serve starts the program on the data directory and waits until it listens.
func serve(t *testing.T, dir string, args ...string) *service {
	t.Helper()
	return start(t, dir, program(t, dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...))
}

// start is serve for a command that is made already, whose standard error may go to another file.
func start(t *testing.T, dir string, cmd *exec.Cmd, stderr ...*os.File) *service {
	t.Helper()
	s := &service{t: t, dir: dir, log: &said.Text{}}
	cmd.Stderr = s.log
	for _, file := range stderr {
		cmd.Stderr = file
	}
	var err error
	if s.Process, err = programtest.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("log of the service:\n%s", s.log)
		}
	})
	if s.url, err = s.Address(patience); err != nil {
		t.Fatalf("%v: %s", err, s.log)
	}
	return s
}

// signal sends a signal, TERM as a rule.
func (s *service) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.Cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait returns the exit status, once there is one.
func (s *service) wait() int {
	s.t.Helper()
	select {
	case <-s.Ended:
	case <-time.After(patience):
		s.t.Fatalf("still runs after %v", patience)
	}
	return s.Cmd.ProcessState.ExitCode()
}

func (s *service) token() string {
	s.t.Helper()
	token, err := programtest.Token(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// ruqi does a command line against the service, in this process.
func (s *service) ruqi(args ...string) command {
	s.t.Helper()
	return run(s.t, map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": s.dir}, "", args...)
}

// ok is ruqi for what must succeed.
func (s *service) ok(args ...string) string {
	s.t.Helper()
	got := s.ruqi(args...)
	if got.status != 0 {
		s.t.Fatalf("ruqi %q: exit %d: %s", args, got.status, got.errors)
	}
	return got.out
}

// fails is ruqi for what must fail with the status, and say so.
func (s *service) fails(status int, want string, args ...string) {
	s.t.Helper()
	got := s.ruqi(args...)
	if got.status != status || got.out != "" || !strings.Contains(got.errors, want) {
		s.t.Errorf("ruqi %q: exit %d, want %d and %q: %s%s", args, got.status, status, want, got.out, got.errors)
	}
}

// eventually asks until ok.
func (s *service) eventually(what string, ok func() bool) {
	s.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit.C:
			s.t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// get asks a path with a token, or without one.
func (s *service) get(path, token string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0 // nobody answers any more
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
