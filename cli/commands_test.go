//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// other is a user of every Unix that no test runs as.
const other = "nobody"

// post sends a definition as a program would and returns the status and the answer.
func (s *service) post(definition string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1/jobs", bytes.NewBufferString(definition))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token())
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// quit ends the service as a supervisor does.
func (s *service) quit() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if status := s.wait(); status != 0 {
		s.t.Fatalf("exit %d: %s", status, s.log)
	}
}

// A record is what the API says of a run.
type record struct {
	ID            int64
	State, Reason string
}

// launch starts a job by hand, waits for its end if it is told to and returns the run.
func (s *service) launch(args ...string) record {
	s.t.Helper()
	got := s.ruqi(append([]string{"job", "run", "-o", "json"}, args...)...)
	var r record
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		s.t.Fatalf("exit %d, %v: %s%s", got.status, err, got.out, got.errors)
	}
	return r
}

// run returns what is known of a run.
func (s *service) run(id int64) record {
	s.t.Helper()
	var r record
	if err := json.Unmarshal([]byte(s.ok("run", "get", fmt.Sprint(id), "-o", "json")), &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// said runs a job and returns its state and what it wrote.
func (s *service) said(id string) (state, text string) {
	s.t.Helper()
	r := s.launch(id, "--wait")
	return r.State, s.ok("run", "logs", fmt.Sprint(r.ID))
}

func TestEveryFlagOfACommandReachesItsProcess(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.ok("job", "add", "x", "--every", "1h", "--user", own.Username, "--umask", "27", "--nice", "5", "--login", "--stdin", "@@in",
		"--limit", "cpu_time=1m", "--limit", "memory_bytes=1GiB", "--limit", "open_files=64", "--limit", "processes=4000",
		"--command", "umask; nice; ulimit -t; ulimit -v; ulimit -n; cat")
	got := s.ok("job", "get", "x")
	for _, want := range []string{"user", own.Username, "umask", "027", "nice", "5", "login", "true", "stdin", "@in", "cpu_time=1m", "memory_bytes=1073741824", "open_files=64", "processes=4000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if state, text := s.said("x"); state != "succeeded" || text != "0027\n5\n60\n1048576\n64\n@in" {
		t.Errorf("it is %s and says\n%s", state, text)
	}
	s.ok("job", "modify", "x", "--umask", "none", "--nice", "none", "--login=false", "--stdin", "none", "--limit", "open_files-", "--limit", "cpu_time=2m")
	got = s.ok("job", "get", "x", "-o", "json")
	for _, gone := range []string{"umask", "nice", "login", "stdin", "open_files"} {
		if strings.Contains(got, `"`+gone+`":`) {
			t.Errorf("%s is still in:\n%s", gone, got)
		}
	}
	if !strings.Contains(got, `"cpu_time": "2m"`) || !strings.Contains(got, "1073741824") {
		t.Errorf("other limits are lost:\n%s", got)
	}
	s.ok("job", "modify", "x", "--user", "none", "--limit", "none")
	if got = s.ok("job", "get", "x", "-o", "json"); strings.Contains(got, "limits") || strings.Contains(got, `"user"`) {
		t.Errorf("none leaves something:\n%s", got)
	}
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("job", "modify", "x", "--stdin", "@"+file, "--command", "cat")
	if _, text := s.said("x"); text != "from a file\n" {
		t.Errorf("it read %q", text)
	}
	if got := run(t, map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": s.dir}, "typed\n", "job", "modify", "x", "--stdin", "-"); got.status != 0 {
		t.Fatalf("exit %d: %s", got.status, got.errors)
	}
	if _, text := s.said("x"); text != "typed\n" {
		t.Errorf("it read %q", text)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"--umask", []string{"--umask", "9"}},
		{"--nice: out of range", []string{"--nice", "20"}},
		{"--nice: \"x\" is not a whole number", []string{"--nice", "x"}},
		{"--limit: cpu_time: 1ms; accepted are", []string{"--limit", "cpu_time=1ms"}},
		{"--limit: memory_bytes: \"1 GB\"", []string{"--limit", "memory_bytes=1 GB"}},
		{"--limit: files: unknown member; accepted are", []string{"--limit", "files=3"}},
		{"--env: A-B: not a name of a variable", []string{"--env", "GOOD=1", "--env", "A-B=1"}},
		{"--limit: \"x\" is not K=V", []string{"--limit", "x"}},
		{"--user: there is no user", []string{"--user", "no-such-user"}},
		{"--stdin", []string{"--stdin", "@/no/such/file"}},
	} {
		s.fails(2, test.want, append([]string{"job", "add", "y", "--every", "1h", "--command", "true"}, test.args...)...)
	}
}

func TestAFileOfCommandsTakesEveryMember(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	text := "id: y\ntrigger: {kind: interval, every: 1h}\ntask:\n  kind: command\n  command: umask; nice; ulimit -n\n  umask: \"022\"\n  nice: 3\n  limits: {open_files: 40, cpu_time: 30s}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("job", "add", "--file", file)
	if _, got := s.said("y"); got != "0022\n3\n40\n" {
		t.Errorf("it says %q", got)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, `"022"`, "022", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(2, `task.umask: not a text such as "022"; 022 was read as a number, in quotes, "022", it is a text`, "job", "add", "--file", file, "--on-conflict", "replace")
}

func TestCommandsHaveNothingOfWhatTheServiceWasGivenOpen(t *testing.T) {
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }() // nothing is written
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--listen", "127.0.0.1:0", "--store", "memory:")
	const first = 3 // descriptor of the first of ExtraFiles
	cmd.ExtraFiles = []*os.File{lock, lock}
	s := start(t, dir, cmd)
	for name, members := range map[string]string{"as it is": "", "by way of the wrapper": `,"umask":"022"`} {
		definition := fmt.Sprintf(`{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"for n in %d %d; do [ ! -e /dev/fd/$n ] || echo $n; done"%s}}`, first, first+1, members)
		if status, text := s.post(definition); status != 201 {
			t.Fatalf("%d: %s", status, text)
		}
		if state, text := s.said("x"); state != "succeeded" || text != "" {
			t.Errorf("%s: it is %s, and of the service's descriptors it has %q", name, state, text)
		}
		s.ok("job", "remove", "x")
	}
}

func TestAUserIsLookedUpWhenAJobIsAdded(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	status, text := s.post(`{"id":"u","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"id -un","user":"` + other + `"}}`)
	if os.Geteuid() != 0 {
		if status != 422 || !strings.Contains(text, "only one that runs as root") || !strings.Contains(text, "/task/user") {
			t.Errorf("%d: %s", status, text)
		}
		return
	}
	if status != 201 {
		t.Fatalf("%d: %s", status, text)
	}
	if state, got := s.said("u"); state != "succeeded" || got != other+"\n" {
		t.Errorf("it is %s and says %q", state, got)
	}
	if status, text := s.post(`{"id":"v","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"id","user":"no-such-user"}}`); status != 422 || !strings.Contains(text, "/task/user") {
		t.Errorf("%d: %s", status, text)
	}
}

func TestOnlyListedProgramsAreStarted(t *testing.T) {
	dir := t.TempDir()
	tool, link := filepath.Join(dir, "tool"), filepath.Join(dir, "link")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho tool \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tool, link); err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(dir, "evil")
	if err := os.MkdirAll(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, "tool"), []byte("#!/bin/sh\necho evil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	open := serve(t, home)
	open.ok("job", "add", "old", "--every", "1h", "--command", "echo old")
	open.ok("job", "add", "other", "--every", "1h", "--tag", "a", "--", link)
	open.quit()
	s := serve(t, home, "--allow-programs", tool+",/usr/bin/env")
	task := func(members string) string {
		return `{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command",` + members + `}}`
	}
	for name, members := range map[string]string{
		"a text for a shell":          `"command":"true"`,
		"a shell that is not listed":  `"command":"true","shell":"/bin/bash"`,
		"another program":             `"argv":["/bin/cat"]`,
		"a link to a listed one":      `"argv":["` + link + `"]`,
		"a detour to a listed one":    `"argv":["` + evil + `/../tool"]`,
		"two slashes":                 `"argv":["/` + tool + `"]`,
		"a relative path":             `"argv":["./tool"],"dir":"` + dir + `"`,
		"a name in no directory":      `"argv":["tool"]`,
		"a name found elsewhere":      `"argv":["tool"],"env":{"PATH":"` + evil + `:` + dir + `"}`,
		"a program that brings along": `"argv":["` + tool + `"],"env":{"LD_PRELOAD":"/x.so"}`,
		"a shell's own start":         `"argv":["` + tool + `"],"env":{"BASH_ENV":"/x","SHELLOPTS":"xtrace","PS4":"$(x)"}`,
		"code of its own for Python":  `"argv":["` + tool + `"],"env":{"PYTHONUSERBASE":"/x"}`,
		"code of its own at home":     `"argv":["` + tool + `"],"env":{"HOME":"/x"}`,
		"code of its own for Perl":    `"argv":["` + tool + `"],"env":{"PERLLIB":"/x"}`,
		"code of its own for Java":    `"argv":["` + tool + `"],"env":{"JDK_JAVA_OPTIONS":"-javaagent:/x"}`,
		"code of its own for Lua":     `"argv":["` + tool + `"],"env":{"LUA_INIT_5_4":"@/x"}`,
		"code of its own for OpenSSL": `"argv":["` + tool + `"],"env":{"OPENSSL_CONF":"/x"}`,
		"code of its own for zsh":     `"argv":["` + tool + `"],"env":{"ZDOTDIR":"/x"}`,
		"a program of tar's":          `"argv":["` + tool + `"],"env":{"TAR_OPTIONS":"--checkpoint-action=exec=x"}`,
		"a program of git's":          `"argv":["` + tool + `"],"env":{"GIT_SSH_COMMAND":"x"}`,
		"a program of rsync's":        `"argv":["` + tool + `"],"env":{"RSYNC_RSH":"x"}`,
		"a pager":                     `"argv":["` + tool + `"],"env":{"PAGER":"x"}`,
	} {
		if status, text := s.post(task(members)); status != 422 || !strings.Contains(text, "/task/") {
			t.Errorf("%s: %d: %s", name, status, text)
		}
	}
	for name, members := range map[string]string{
		"by its path":          `"argv":["` + tool + `","a b","$(x)"]`,
		"found in PATH":        `"argv":["tool","a b","$(x)"],"env":{"PATH":"` + dir + `:` + evil + `"}`,
		"with umask and limit": `"argv":["` + tool + `","a b","$(x)"],"umask":"077","limits":{"open_files":64}`,
	} {
		if status, text := s.post(task(members)); status != 201 {
			t.Errorf("%s: %d: %s", name, status, text)
			continue
		}
		if state, text := s.said("x"); state != "succeeded" || text != "tool a b $(x)\n" {
			t.Errorf("%s: it is %s and says %q", name, state, text)
		}
		s.ok("job", "remove", "x")
	}
	// What was added before fails saying why, and can be changed in other things.
	for _, id := range []string{"old", "other"} {
		r := s.launch(id, "--wait")
		if text := s.ok("run", "logs", fmt.Sprint(r.ID)); r.State != "failed" || text != "" || !strings.HasPrefix(r.Reason, "not started: ") || !strings.Contains(r.Reason, "may be started here") {
			t.Errorf("%s: %+v, and it says %q", id, r, text)
		}
	}
	s.ok("job", "modify", "other", "--tag", "b")
	s.fails(2, "may be started here", "job", "modify", "other", "--env", "A=1")
	s.fails(2, "--command", "job", "add", "z", "--every", "1h", "--command", "true")
}

func TestAShellMayBeListed(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-programs", "/bin/sh")
	s.ok("job", "add", "x", "--every", "1h", "--command", "echo hi")
	if state, text := s.said("x"); state != "succeeded" || text != "hi\n" {
		t.Errorf("it is %s and says %q", state, text)
	}
	for _, args := range [][]string{{"--allow-programs", "sh"}, {"--allow-programs", "/bin/../bin/sh"}, {"--allow-programs", "/bin/sh/"}} {
		got := run(t, map[string]string{"RUQI_DATA_DIR": t.TempDir()}, "", append([]string{"serve", "--store", "memory:", "--listen", "127.0.0.1:0"}, args...)...)
		if got.status != 2 || !strings.Contains(got.errors, "is no whole path") {
			t.Errorf("%v: exit %d: %s", args, got.status, got.errors)
		}
	}
}

func TestOnlyListedUsersAreTaken(t *testing.T) {
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	task := func(members string) string {
		return `{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"id -un"` + members + `}}`
	}
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-users", other)
	for _, members := range []string{"", `,"user":"` + own.Username + `"`, `,"user":"daemon"`} {
		if status, text := s.post(task(members)); status != 422 || !strings.Contains(text, "/task/user") || !strings.Contains(text, "accepted is "+other) {
			t.Errorf("%s: %d: %s", members, status, text)
		}
	}
	if os.Geteuid() == 0 {
		if status, text := s.post(task(`,"user":"` + other + `"`)); status != 201 {
			t.Errorf("%d: %s", status, text)
		}
		if _, text := s.said("x"); text != other+"\n" {
			t.Errorf("it says %q", text)
		}
	}
	s = serve(t, t.TempDir(), "--store", "memory:", "--allow-users", own.Username)
	if status, text := s.post(task("")); status != 201 {
		t.Errorf("the service's own user: %d: %s", status, text)
	}
	if status, text := s.post(task(`,"user":"` + other + `"`)); status != 422 {
		t.Errorf("%d: %s", status, text)
	}
}

func TestAServiceWithoutCommandsTakesNone(t *testing.T) {
	home := t.TempDir()
	open := serve(t, home)
	open.ok("job", "add", "old", "--every", "1h", "--command", "echo old")
	open.quit()
	s := serve(t, home, "--no-commands")
	status, text := s.post(`{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","argv":["true"]}}`)
	if status != 422 || !strings.Contains(text, "this service runs no commands") || !strings.Contains(text, "/task/kind") {
		t.Errorf("%d: %s", status, text)
	}
	for _, args := range [][]string{{"status"}, {"instance", "list"}} {
		if got := s.ok(args...); !strings.Contains(got, "commands are off") || strings.Contains(got, "command 0") || strings.Contains(got, "command 8") {
			t.Errorf("%v tells of slots that nothing can have:\n%s", args, got)
		}
	}
	if got := s.ok("status", "-o", "json"); !strings.Contains(got, `"webhook"`) || strings.Contains(got, `"command"
`) {
		t.Errorf("what it can run:\n%s", got)
	}
	s.fails(2, "this service runs no commands", "job", "add", "y", "--every", "1h", "--command", "true")
	if got := s.ok("job", "get", "old"); !strings.Contains(got, "parked") || !strings.Contains(got, "echo old") {
		t.Errorf("the old job:\n%s", got)
	}
	r := s.launch("old")
	if r.State != "queued" {
		t.Errorf("its run: %+v", r)
	}
	s.quit()
	again := serve(t, home)
	again.eventually("its run goes on where commands are run", func() bool {
		return again.run(r.ID).State == "succeeded"
	})
}

func TestTheSettingsOfCommandsAreReadFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	cmd := program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RUQI_ALLOW_PROGRAMS=/bin/true,/bin/false", "RUQI_ALLOW_USERS="+other)
	s := start(t, dir, cmd)
	status, text := s.post(`{"id":"x","trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"true"}}`)
	if status != 422 || !strings.Contains(text, "/task/shell") || !strings.Contains(text, "/task/user") {
		t.Errorf("%d: %s", status, text)
	}
	dir = t.TempDir()
	cmd = program(t, dir, "serve", "--store", "memory:", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RUQI_NO_COMMANDS=true")
	if status, text := start(t, dir, cmd).post(fmt.Sprintf(`{"trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":%q}}`, "true")); status != 422 || !strings.Contains(text, "runs no commands") {
		t.Errorf("%d: %s", status, text)
	}
}
