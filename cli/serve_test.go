//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// finish runs the real program to its end and returns its status and what it wrote.
func finish(t *testing.T, cmd *exec.Cmd) command {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestAFreshServiceHasATokenOfItsOwn(t *testing.T) { // CD01, CD05
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := serve(t, dir)
	token := s.token()
	if len(token) < 40 {
		t.Errorf("token of %d characters", len(token))
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, dir + "/admin-token": 0o600, dir + "/ruqi.db": 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, want %v; %v", path, info.Mode(), want, err)
		}
	}
	if !strings.Contains(s.log.String(), dir+"/admin-token") || strings.Contains(s.log.String(), token) {
		t.Errorf("the start does not say where the token is, or says it:\n%s", s.log)
	}
	for _, wrong := range []string{"", "wrong", "default_token", token + "x", token[:len(token)-1]} {
		if status := s.get("/api/v1/jobs", wrong); status != 401 {
			t.Errorf("with the token %q: %d", wrong, status)
		}
	}
	if status := s.get("/api/v1/jobs", token); status != 200 {
		t.Errorf("with the right token: %d", status)
	}
	s.signal(syscall.SIGINT)
	if status := s.wait(); status != 0 {
		t.Errorf("exit %d after SIGINT", status)
	}
	again := serve(t, dir)
	if again.token() != token || !strings.Contains(again.log.String(), "already") {
		t.Errorf("the second start made another token, or does not say so:\n%s", again.log)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "admin-token-") {
			t.Errorf("%s was left behind", e.Name())
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "admin-token" && strings.Contains(string(text), token) {
			t.Errorf("%s holds the token itself", e.Name())
		}
	}
}

func TestATokenFileIsUsedAgainAndNeverLost(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir) // its store keeps the hash of this token
	token := first.token()
	memory := serve(t, dir, "--store", "memory:")
	if memory.token() != token || memory.get("/api/v1/jobs", token) != 200 {
		t.Errorf("another store did not take the token in the directory:\n%s", memory.log)
	}
	path := filepath.Join(dir, "admin-token")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0")); got.status != 1 || !strings.Contains(got.errors, "chmod 600") {
		t.Errorf("a token that others can read: %+v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0")); got.status != 1 || !strings.Contains(got.errors, "no token") {
		t.Errorf("a token of the user's own: %+v", got)
	}
}

func TestTwoFirstStartsMakeOneToken(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "shared.db")
	var services [3]*service
	var wg sync.WaitGroup
	for i := range services {
		wg.Go(func() { services[i] = serve(t, filepath.Join(dir, fmt.Sprint(i)), "--store", store) })
	}
	wg.Wait()
	var tokens []string
	for i := range services {
		if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i), "admin-token")); err == nil {
			tokens = append(tokens, strings.TrimSpace(string(text)))
		}
	}
	if len(tokens) != 1 {
		t.Fatalf("%d tokens were made", len(tokens))
	}
	for _, s := range services {
		if status := s.get("/api/v1/jobs", tokens[0]); status != 200 {
			t.Errorf("%s does not take the one token: %d", s.url, status)
		}
	}
}

func TestServeRefusesWhatWouldNotDo(t *testing.T) { // CD03
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("no database, but long enough to be taken for one by mistake"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		want   string
		args   []string
		env    string
	}{
		{2, "--insecure-http", []string{"--listen", "0.0.0.0:0"}, ""},
		{2, "--insecure-http", []string{"--listen", ":0"}, ""},
		{2, "--insecure-http", []string{"--listen", "[::]:0"}, ""},
		{2, "RUQI_LISTEN", nil, "RUQI_LISTEN=0.0.0.0:0"},
		{2, "HOST:PORT", []string{"--listen", "8585"}, ""},
		{2, "port", []string{"--listen", "127.0.0.1:http"}, ""},
		{2, "--tz", []string{"--tz", "Nowhere"}, ""},
		{2, "--lease", []string{"--lease", "soon"}, ""},
		{2, "lease", []string{"--lease", "1ms", "--listen", "127.0.0.1:0"}, ""},
		{2, "--slots", []string{"--slots", "command"}, ""},
		{2, "RUQI_SLOTS", nil, "RUQI_SLOTS=command=many"},
		{2, "RUQI_LEASE: ", []string{"--listen", "127.0.0.1:0"}, "RUQI_LEASE=1ms"},
		{2, "RUQI_INSECURE_HTTP", nil, "RUQI_INSECURE_HTTP=maybe"},
		{2, `--allow-users: there is no user "nosuchuser" on this machine`, []string{"--listen", "127.0.0.1:0", "--allow-users", "root,nosuchuser"}, ""},
		{2, `RUQI_ALLOW_USERS: there is no user "nosuchuser" on this machine`, []string{"--listen", "127.0.0.1:0"}, "RUQI_ALLOW_USERS=nosuchuser"},
		{2, "--log-level", []string{"--log-level", "loud"}, ""},
		{2, "--lease: must be longer than nothing; leave it out for the default", []string{"--lease", "0s"}, ""},
		{2, "--lease: 2h0m0s; a lease takes from 500ms to 1h", []string{"--lease", "2h", "--listen", "127.0.0.1:0"}, ""},
		{2, `--slots: "command" with -1; a pool has a name of 1 to 255 bytes and 0 to 1,000,000 slots`, []string{"--slots", "command=-1", "--listen", "127.0.0.1:0"}, ""},
		{2, `--allow-net: "10.0.0.5/8" is no network such as 10.0.0.0/8, nor an address; did you mean 10.0.0.0/8?`, []string{"--allow-net", "10.0.0.5/8"}, ""},
		{2, "--webhook-proxy: HTTP_PROXY is no address of a proxy such as http://proxy.example:3128", []string{"--webhook-proxy", "--listen", "127.0.0.1:0"}, "HTTP_PROXY=user:secret@a b:x"},
		{2, "--webhook-proxy: https_proxy is no address of a proxy", []string{"--webhook-proxy", "--listen", "127.0.0.1:0"}, "https_proxy=http://secret:port"},
		{2, "accepted are memory:, sqlite:PATH and postgres:", []string{"--store", "mysql://user:secret@host/db"}, ""},
		{1, "missing", []string{"--store", "sqlite:" + dir + "/missing/ruqi.db"}, ""},
		{1, "file", []string{"--store", "sqlite:" + file}, ""},
		{1, "data directory", []string{"--data-dir", file + "/x"}, ""},
		{1, "cannot serve", []string{"--listen", busy.Addr().String()}, ""},
	} {
		cmd := program(t, filepath.Join(dir, "data"), append([]string{"serve"}, c.args...)...)
		if c.env != "" {
			cmd.Env = append(cmd.Env, c.env)
		}
		got := finish(t, cmd)
		if got.status != c.status || got.out != "" || !strings.Contains(got.errors, c.want) || strings.Contains(got.errors, "secret") || strings.Contains(got.errors, "goroutine") {
			t.Errorf("serve %q %s: exit %d, want %d and %q: %s%s", c.args, c.env, got.status, c.status, c.want, got.out, got.errors)
		}
	}
}

func TestSettingsComeFromTheEnvironmentToo(t *testing.T) {
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--slots", "command=3", "--slots", "comand=4")
	cmd.Env = append(cmd.Env, "RUQI_LISTEN=127.0.0.1:0", "RUQI_STORE=memory:", "RUQI_TZ=Asia/Tokyo", "RUQI_SLOTS=command=9", "RUQI_LOG_LEVEL=debug", "RUQI_DRAIN=0")
	s := start(t, dir, cmd)
	got := s.ok("status")
	for _, want := range []string{"memory:", "Asia/Tokyo", "command 0 of 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("status has no %q: %s", want, got)
		}
	}
	s.eventually("a pool that nobody names by himself is spoken of", func() bool { return strings.Contains(s.log.String(), "pool=comand") })
	if strings.Contains(s.log.String(), "pool=command") {
		t.Error("a pool of the program's own is spoken of")
	}
}

func TestAProgramOfTheListThatIsNotThereIsSpokenOf(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-programs", "/usr/bin/no-such-program,/bin/sh,/etc")
	s.eventually("what is no program is named", func() bool {
		said := s.log.String()
		return strings.Contains(said, "program=/usr/bin/no-such-program") && strings.Contains(said, "program=/etc")
	})
	if strings.Contains(s.log.String(), "program=/bin/sh") {
		t.Error("a program that is there is spoken of")
	}
}

func TestTerminationDrainsThenEndsRuns(t *testing.T) { // SH03
	dir := t.TempDir()
	s := serve(t, dir, "--drain", "1s")
	s.ok("job", "add", "long", "--every", "1h", "--kill-grace", "1s", "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 600 & wait; done")
	s.ok("job", "run", "long")
	pid := 0
	s.eventually("it runs", func() bool {
		n, err := fmt.Sscan(s.ok("run", "logs", "1"), &pid)
		return n == 1 && err == nil
	})
	begin := time.Now()
	s.signal(syscall.SIGTERM)
	s.eventually("the instance is not ready", func() bool { return s.get("/readyz", "") == 503 })
	if got := s.ok("status", "-o", "json"); !strings.Contains(got, `"state": "stopping"`) || !strings.Contains(got, `"running": 1`) {
		t.Errorf("status during the drain: %s", got)
	}
	if status := s.wait(); status != 0 {
		t.Errorf("exit %d", status)
	}
	if took := time.Since(begin); took < time.Second || took > 10*time.Second {
		t.Errorf("took %v, want the drain of 1 s and the grace of 1 s", took)
	}
	again := serve(t, dir)
	if got := again.ok("run", "get", "1"); !strings.Contains(got, "cancelled") || !strings.Contains(got, "shut down") {
		t.Errorf("the row does not say that the shutdown ended it: %s", got)
	}
	again.eventually("the command's whole group is gone", func() bool { return errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) })
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	s := serve(t, t.TempDir(), "--drain", "10m")
	s.ok("job", "add", "long", "--every", "1h", "--kill-grace", "2s", "--", "sh", "-c", "echo $$; exec sleep 600")
	s.ok("job", "run", "long")
	pid := 0
	s.eventually("it runs", func() bool {
		n, err := fmt.Sscan(s.ok("run", "logs", "1"), &pid)
		return n == 1 && err == nil
	})
	s.signal(syscall.SIGTERM)
	s.eventually("the instance stops", func() bool { return s.get("/readyz", "") == 503 })
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 1 {
		t.Errorf("exit %d, want 1", status)
	}
	if said := s.log.String(); !strings.Contains(said, `msg="shutting down; a second signal ends runs by force" signal=terminated`) || !strings.Contains(said, `msg="waiting for runs to end" runs=1 until=`) {
		t.Errorf("it does not say what it waits for:\n%s", said)
	}
	if said := s.log.String(); strings.Count(said, "ending runs by force") != 1 || strings.Contains(said, "lost") {
		t.Errorf("the log:\n%s", said)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the command goes on: %v", err)
	}
	again := serve(t, s.dir)
	if got := again.ok("run", "get", "1"); !strings.Contains(got, "cancelled") {
		t.Errorf("its end is not on record: %s", got)
	}
}

func TestASecondSignalEndsACommandThatIgnoresTheFirst(t *testing.T) {
	s := serve(t, t.TempDir(), "--drain", "10m")
	s.ok("job", "add", "deaf", "--every", "1h", "--kill-grace", "10m", "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 600 & wait; done")
	s.ok("job", "run", "deaf")
	pid := 0
	s.eventually("it runs", func() bool {
		n, err := fmt.Sscan(s.ok("run", "logs", "1"), &pid)
		return n == 1 && err == nil
	})
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }) // gone already, as a rule
	s.signal(syscall.SIGTERM)
	s.eventually("the instance stops", func() bool { return s.get("/readyz", "") == 503 })
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 1 {
		t.Errorf("exit %d, want 1", status)
	}
	s.eventually("the command's whole group is gone", func() bool { return errors.Is(syscall.Kill(-pid, 0), syscall.ESRCH) })
}

func TestAHangUpEndsTheServiceUnlessItIsIgnored(t *testing.T) {
	// A child inherits that a signal is ignored, as by tests under nohup, but not that it is taken.
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	defer signal.Stop(taken)
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.signal(syscall.SIGHUP)
	if status := s.wait(); status != 0 || !strings.Contains(s.log.String(), "shutting down") {
		t.Errorf("exit %d:\n%s", status, s.log)
	}
	dir := t.TempDir()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, dir)
	shell := exec.CommandContext(t.Context(), "sh", "-c", `trap '' HUP; exec "$0" serve --store memory: --listen 127.0.0.1:0`, path)
	shell.Env = cmd.Env
	nohup := start(t, dir, shell)
	nohup.signal(syscall.SIGHUP)
	if status := nohup.get("/healthz", ""); status != 200 {
		t.Errorf("under nohup a hang-up ends the service: %d", status)
	}
	nohup.signal(syscall.SIGTERM)
	if status := nohup.wait(); status != 0 {
		t.Errorf("exit %d after SIGTERM", status)
	}
}

func TestAReaderOfTheLogThatGoesAwayTakesNothingAlong(t *testing.T) {
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--log-level", "debug")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dir, cmd, write)
	if err := errors.Join(read.Close(), write.Close()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each request is a line of the log
		if status := s.get("/healthz", ""); status != 200 {
			t.Fatalf("the service has gone: %d", status)
		}
	}
	// Commands are ended by a pipe that nobody reads, as ever.
	s.ok("job", "add", "pipe", "--every", "1h", "--command", `sh -c 'kill -PIPE $$; echo lives'`)
	if got := s.ruqi("job", "run", "pipe", "--wait"); got.status != 1 || strings.Contains(got.out, "lives") {
		t.Errorf("a command ignores SIGPIPE: %+v", got)
	}
}

func TestSecretsStayOutOfTheLog(t *testing.T) { // LE01, LE05
	s := serve(t, t.TempDir(), "--log-level", "debug", "--store", "memory:")
	token := s.token()
	s.ok("job", "add", "x", "--every", "1h", "--timeout", "1s", "--kill-grace", "1s", "--env", "PASS=secret2", "--param", "p=secret3", "--command", "exec sleep 600 # -pass secret1")
	if got := s.ruqi("job", "run", "x", "--wait"); got.status != 1 || !strings.Contains(got.out, "timed_out") {
		t.Errorf("run: %+v", got)
	}
	s.fails(2, "", "job", "add", "y", "--every", "1h", "--priority", "2000000", "--command", "x -pass secret1")
	s.ok("job", "add", "z", "--every", "1h", "--command", "no-such-program-secret1 2>/dev/null")
	s.ruqi("job", "run", "z", "--wait")
	if status := s.get("/api/v1/jobs?token="+token, ""); status != 401 {
		t.Errorf("a token in the query is taken: %d", status)
	}
	s.get("/api/v1/jobs?token="+token+"&search=secret4", token)
	s.ok("job", "remove", "--all")
	s.signal(syscall.SIGTERM)
	s.wait()
	text := s.log.String()
	for _, secret := range []string{"secret1", "secret2", "secret3", "secret4", token} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %s:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, "request served") {
		t.Error("the log has no requests: this test looks at nothing")
	}
}
