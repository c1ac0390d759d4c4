package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// pollEvery is the pause between two looks at something that is waited for.
	pollEvery = 10 * time.Millisecond
	// portTries bounds how many ports a start tries that were free a moment before.
	portTries = 10
	// logShown is how much of a log is shown, bytes: some hundred lines.
	logShown = 16 << 10
	// folderMost is the longest path of a folder for a socket: addresses of sockets have 107
	// bytes on Linux and 103 on macOS, and "/.s.PGSQL.12345" takes 15.
	folderMost = 85
)

// errPortTaken says that another program was quicker.
var errPortTaken = errors.New("the port is taken")

// A process is a PostgreSQL with its folder.
type process struct {
	bin, dir string
	settings []string
	env      []string
	url      url.URL
	port     int
	log      *os.File
	guard    *guard

	mu     sync.Mutex // guards what follows, and is held for the whole of a start or an end
	cmd    *exec.Cmd  // nil: down. What has ended by itself is not reaped before the next end.
	paused []int      // the children that were stopped; nil: it is not paused
}

// create makes a folder, a cluster in it, and starts it. On error nothing is left.
func create(options Options, ports func() (int, error)) (*process, error) {
	bin, err := options.bin()
	if err != nil {
		return nil, err
	}
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	p := &process{bin: bin, dir: dir, env: environ()}
	if p.guard, err = newGuard(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := p.build(options, ports); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// newFolder makes a folder that belongs to who will run the server.
func newFolder() (string, error) {
	parent := os.TempDir()
	if len(parent) > folderMost-len("/ruqi-postgres-1234567890") {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "ruqi-postgres-*")
	if err != nil {
		return "", err
	}
	if err := give(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// environ is the environment without what PostgreSQL's programs read, and with messages in English.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	return append(env, "LC_ALL=C")
}

func (p *process) build(options Options, ports func() (int, error)) error {
	var err error
	if p.log, err = os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return err
	}
	if err := p.initialize(options.Password); err != nil {
		return err
	}
	p.settings = settings(p.dir, options)
	for range portTries {
		if p.port, err = ports(); err != nil {
			return err
		}
		p.url = address(p.port, options.Password)
		if err = p.start(); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (p *process) data() string { return filepath.Join(p.dir, "data") }

// initialize makes a cluster whose superuser is postgres.
func (p *process) initialize(password string) error {
	locale := "C.UTF-8"
	if runtime.GOOS == "darwin" {
		locale = "C" // macOS has no C.UTF-8
	}
	args := []string{"--pgdata=" + p.data(), "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=" + locale}
	if password == "" {
		args = append(args, "--auth=trust")
	} else {
		file := filepath.Join(p.dir, "password")
		if err := errors.Join(os.WriteFile(file, []byte(password+"\n"), 0o600), give(file)); err != nil {
			return err
		}
		args = append(args, "--auth=scram-sha-256", "--pwfile="+file)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	cmd := p.command(ctx, "initdb", args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	err := errors.Join(p.guard.watch(cmd.Process.Pid), cmd.Wait(), p.guard.watch())
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, p.logSince(0))
	}
	return p.log.Truncate(0) // a hundred lines that nobody needs once it went well
}

// settings returns the arguments for the server's run-time parameters.
func settings(dir string, options Options) []string {
	list := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=" + dir,
		"cluster_name=" + filepath.Base(dir), // it is shown by ps
		"max_connections=200",                // the default of 100 is little for many pools
		// What is shared between its processes is kept in its folder, and goes with it.
		"dynamic_shared_memory_type=mmap",
	}
	if !options.Fsync {
		list = append(list, "fsync=off", "full_page_writes=off")
	}
	for _, name := range slices.Sorted(maps.Keys(options.Settings)) {
		list = append(list, name+"="+options.Settings[name])
	}
	var args []string
	for _, setting := range list {
		args = append(args, "-c", setting)
	}
	return args
}

func address(port int, password string) url.URL {
	user := url.User("postgres")
	if password != "" {
		user = url.UserPassword("postgres", password)
	}
	return url.URL{Scheme: "postgres", User: user, Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path: "/postgres", RawQuery: "sslmode=disable"}
}

// command prepares one of PostgreSQL's programs, which logs to the server's log.
func (p *process) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = unprivileged()
	return cmd
}

// start starts the server on its port and waits until it takes connections.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return errors.New("it runs already")
	}
	from := p.logSize()
	args := append([]string{"-D", p.data(), "-p", strconv.Itoa(p.port)}, p.settings...)
	cmd := p.command(context.Background(), "postgres", args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	err := p.guard.watch(cmd.Process.Pid)
	if err == nil {
		err = p.await()
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, p.quit())
	log := p.logSince(from)
	if strings.Contains(log, "could not bind") {
		err = fmt.Errorf("port %d: %w (%w)", p.port, errPortTaken, err)
	}
	return fmt.Errorf("%w\n%s", err, log)
}

// await tries to connect until that works or the server has ended.
func (p *process) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	for {
		err := p.ask(ctx)
		if err == nil {
			return nil
		}
		if !alive(p.cmd.Process.Pid) {
			return errors.New("it ended while it started")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it takes no connection after %v: %w", bound, err)
		case <-time.After(pollEvery):
		}
	}
}

// ask connects once the server says that it is ready: before, another program may answer on a
// port that was free when we looked.
func (p *process) ask(ctx context.Context) error {
	if lock := p.lockFile(); lock[0] != strconv.Itoa(p.cmd.Process.Pid) || lock[7] != "ready" {
		return errors.New("it is not ready")
	}
	c, err := pgx.Connect(ctx, p.url.String())
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// lockFile returns the eight lines of postmaster.pid, of which the first is the process id and the
// last what it is about to do. They are empty if there is no such file.
func (p *process) lockFile() (lines [8]string) {
	text, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	if err != nil {
		return lines
	}
	for i, line := range strings.SplitN(string(text), "\n", len(lines)+1) {
		if i < len(lines) {
			lines[i] = strings.TrimSpace(line)
		}
	}
	return lines
}

// answers reports whether the server runs and is not paused.
func (p *process) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && p.paused == nil && alive(p.cmd.Process.Pid)
}

// stop ends the server by SIGQUIT.
func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quit()
}

// quit is stop for who holds the mutex.
func (p *process) quit() error {
	if p.cmd == nil {
		return nil
	}
	pid := p.cmd.Process.Pid
	send(syscall.SIGQUIT, pid)
	send(sigCont, append(p.paused, pid)...) // what is stopped hears it only when it goes on
	return p.reap()
}

// kill ends all processes of the server by SIGKILL.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	pid := p.cmd.Process.Pid
	// A postmaster that stands bears no more children, so that none is missed.
	if err := halt(pid); err != nil {
		return err
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	send(syscall.SIGKILL, append([]int{pid}, children...)...) // it first: it must not see them die
	if err := p.reap(); err != nil {
		return err
	}
	return until("the server's processes are gone", func() bool { return !slices.ContainsFunc(children, alive) })
}

// reap waits for a postmaster that was told to end.
func (p *process) reap() error {
	pid := p.cmd.Process.Pid
	if err := until("the server has ended", func() bool { return !alive(pid) }); err != nil {
		return err
	}
	_ = p.cmd.Wait() // how it ended is known: by the signal
	p.cmd, p.paused = nil, nil
	return p.guard.watch()
}

// pause stops all processes of the server.
func (p *process) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || !alive(p.cmd.Process.Pid) {
		return errors.New("it does not run")
	}
	pid := p.cmd.Process.Pid
	if err := halt(pid); err != nil {
		return err
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	if err := p.guard.watch(append([]int{pid}, children...)...); err != nil {
		return err
	}
	p.paused = append([]int{}, children...)
	return halt(children...)
}

// resume lets them go on.
func (p *process) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == nil {
		return errors.New("it is not paused")
	}
	send(sigCont, append(p.paused, p.cmd.Process.Pid)...)
	p.paused = nil
	return p.guard.watch(p.cmd.Process.Pid)
}

// close ends the server and removes its folder.
func (p *process) close() error {
	err := p.stop()
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return errors.Join(err, p.guard.end())
}

// halt stops processes and waits until they stand or are gone.
func halt(pids ...int) error {
	send(sigStop, pids...)
	return until("the server's processes stand", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return alive(pid) && !stopped(pid) })
	})
}

// until looks at something every 10 ms until it is so, or the bound is over.
func until(what string, so func() bool) error {
	end := time.Now().Add(bound)
	for !so() {
		if time.Now().After(end) {
			return fmt.Errorf("waited %v in vain until %s", bound, what)
		}
		time.Sleep(pollEvery)
	}
	return nil
}

func (p *process) logSize() int64 {
	info, err := p.log.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSince returns what was logged from an offset on, the end of it if it is long.
func (p *process) logSince(from int64) string {
	size := p.logSize()
	from = max(from, size-logShown)
	text, err := io.ReadAll(io.NewSectionReader(p.log, from, max(size-from, 0)))
	if err != nil {
		return fmt.Sprintf("read the log: %v", err)
	}
	return string(text)
}

// freePort returns a port of 127.0.0.1 that nobody listens on: below those that systems give to
// outgoing connections (32768 and up on Linux, 49152 and up elsewhere), so that none takes it
// while the server is down, and above those of services.
func freePort() (int, error) {
	const lowest, end = 10240, 32768
	var err error
	for range 100 {
		port := lowest + rand.IntN(end-lowest)
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
