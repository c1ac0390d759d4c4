//go:build linux

package crash_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/internal/programtest"
	"github.com/ruqi-dev/ruqi/standard"
)

// program is the service's binary, built once for all tests.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(clockName) != "" {
		os.Exit(serveByClock())
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ruqi-crash-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if program, err = programtest.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return postgrestest.Main(m)
}

// long reports whether the long form was asked for.
func long() bool { return os.Getenv("RUQI_CHAOS") == "long" }

// pick returns the value of the form that runs.
func pick[T any](short, longer T) T {
	if long() {
		return longer
	}
	return short
}

// random returns a source whose seed is printed.
func random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

const (
	lease = time.Second
	// drain is shorter than the longest commands, and longer than most.
	drain = 5 * time.Second
	// commandSlots are enough for what a load runs at once.
	commandSlots = 48
	// readyWait bounds the start of a service: it takes a tenth of a second, on a machine that does other
	// things ten times as long.
	readyWait = 30 * time.Second
	// endWait bounds the end of a service that was sent TERM, its drain included.
	endWait = 30 * time.Second
)

// A site is a store and the services on it.
type site struct {
	t *testing.T
	// address is where the store is, as --store has it.
	address string
	// dir holds the token, the marks of commands, what the services said, and a store that is a file.
	dir          string
	lease, drain time.Duration
	// nonce is in the environment of every command of the site.
	nonce string
	// tells says that a failed test shows what each service said, however many there were.
	tells bool

	mu    sync.Mutex // guards lives
	lives int
}

// nonceName is the variable by which the site's commands are found in /proc.
const nonceName = "CRASH_SITE"

// newSite is a site on an empty SQLite file.
func newSite(t *testing.T) *site {
	t.Helper()
	s := newSiteOn(t, "")
	s.address = "sqlite:" + s.file()
	return s
}

// newSiteOn is a site on the store at an address.
func newSiteOn(t *testing.T, address string) *site {
	t.Helper()
	s := &site{t: t, address: address, dir: t.TempDir(), lease: lease, drain: drain, nonce: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())}
	if err := os.Mkdir(s.marks(), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.hear)
	return s
}

func (s *site) marks() string { return filepath.Join(s.dir, "marks") }

// A service is one process.
type service struct {
	*programtest.Process
	site *site
	// client and base, its address, are set once it listens.
	client *client.Client
	base   string
}

// A way is how a service is started. The zero value is the program on the site's store.
type way struct {
	// address is the store's; empty: the site's.
	address string
	// front is a command that the program is started below.
	front []string
	// clock starts, in place of the program, a scheduler whose clock is off by that: see clock_test.go.
	clock *time.Duration
}

// launch starts a service, below the command given in front if there is one.
func (s *site) launch(front ...string) *service {
	s.t.Helper()
	v, err := s.launchBy(way{front: front})
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// launchBy starts a service. Any goroutine may call it while the test lasts.
func (s *site) launchBy(w way) (*service, error) {
	s.mu.Lock()
	s.lives++
	life := s.lives
	s.mu.Unlock()
	w.address = cmp.Or(w.address, s.address)
	args := append(slices.Clone(w.front), program, "serve", "--data-dir", s.dir, "--store", w.address,
		"--listen", "127.0.0.1:0", "--lease", s.lease.String(), "--drain", s.drain.String(), "--slots", fmt.Sprintf("command=%d", commandSlots), "--log-level", "info")
	if w.clock != nil {
		args = []string{os.Args[0]}
	}
	cmd := exec.Command(args[0], args[1:]...)
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("life-%04d.log", life)))
	if err != nil {
		return nil, err
	}
	cmd.Stderr = log
	if w.clock != nil {
		cmd.Env = append(os.Environ(), s.clockEnv(w)...)
	}
	// The services are to end with the tests, even when these are killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process, err := programtest.Start(cmd)
	_ = log.Close() // the service has its own
	if err != nil {
		return nil, err
	}
	v := &service{Process: process, site: s}
	s.t.Cleanup(v.Kill)
	return v, nil
}

// ready waits until the service listens and returns a client of it.
func (v *service) ready() (*client.Client, error) {
	address, err := v.Address(readyWait)
	if err != nil {
		return nil, err
	}
	token, err := programtest.Token(v.site.dir)
	if err != nil {
		return nil, err
	}
	v.base = address
	v.client, err = client.New(address, token, standard.Registry(standard.Options{}), client.Options{})
	return v.client, err
}

// start launches a service and waits until it listens.
func (s *site) start() (*service, *client.Client) {
	s.t.Helper()
	v := s.launch()
	c, err := v.ready()
	if err != nil {
		s.t.Fatal(err)
	}
	return v, c
}

func (v *service) signal(sig syscall.Signal) {
	if err := v.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		v.site.t.Errorf("%v to %d: %v", sig, v.Cmd.Process.Pid, err)
	}
}

// term ends the service as a service manager does; it must leave with 0.
func (v *service) term() {
	v.site.t.Helper()
	v.signal(syscall.SIGTERM)
	limit := time.NewTimer(endWait)
	defer limit.Stop()
	select {
	case <-v.Ended:
		if v.Err != nil {
			v.site.t.Errorf("a service that was sent TERM left with %v", v.Err)
		}
	case <-limit.C:
		v.site.t.Errorf("a service that was sent TERM is there %s later", endWait)
		v.Kill()
	}
}

// explained are errors that stand for nothing worse than a service that was stopped, cut off, or slow, for longer than its lease.
var explained = [][]byte{
	[]byte("lease lost"),
	[]byte("the lease could not be trusted any more"),
	[]byte("a claimed run was never started; ending it as lost"), // it follows the one before
}

// isFault reports whether a line that a service said is a panic, or an error that nothing here explains.
func isFault(line []byte) bool {
	for _, begin := range []string{"panic:", "fatal error:", "WARNING: DATA RACE"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return true
		}
	}
	return bytes.Contains(line, []byte("level=ERROR")) && !slices.ContainsFunc(explained, func(e []byte) bool { return bytes.Contains(line, e) })
}

// hear reads what the services said, and tells of faults.
func (s *site) hear() {
	names, err := filepath.Glob(filepath.Join(s.dir, "life-*.log"))
	if err != nil {
		s.t.Error(err)
	}
	told := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			s.t.Error(err)
			continue
		}
		for line := range bytes.Lines(text) {
			if isFault(line) && told < 10 {
				s.t.Errorf("%s: %s", filepath.Base(name), bytes.TrimSpace(line))
				told++
			}
		}
		if s.t.Failed() && (s.tells || len(names) < 8) {
			s.t.Logf("%s:\n%s", filepath.Base(name), text[max(0, len(text)-4000):])
		}
	}
	if s.t.Failed() { // go test -artifacts keeps it
		if err := os.CopyFS(filepath.Join(s.t.ArtifactDir(), filepath.Base(s.dir)), os.DirFS(s.dir)); err != nil {
			s.t.Error(err)
		}
	}
}

// orphans lists the commands of the site that are still there.
func (s *site) orphans() []string {
	want := []byte(nonceName + "=" + s.nonce)
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.t.Error(err)
	}
	var found []string
	for _, name := range environs {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, want) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")) // gone by now, perhaps
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(name)), line))
		}
	}
	return found
}

// await polls until done holds; what the tests wait for outside of their own process has no other event.
func await(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("after %s there is still no %s", limit, what)
			return
		}
	}
}
