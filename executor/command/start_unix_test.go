//go:build unix

package command_test

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// other is a user of every Unix that the tests do not run as.
var other = func() string {
	if own, err := user.Current(); err == nil && own.Username == "nobody" {
		return "daemon"
	}
	return "nobody"
}()

// asRoot reports whether the tests run as root, who alone can become another user. Who cannot is refused, which is a test of its own.
func asRoot() bool { return os.Geteuid() == 0 }

// pointers lists where the faults of an error are.
func pointers(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	var all []string
	for _, fault := range invalid.Faults {
		all = append(all, fault.Pointer)
	}
	return strings.Join(all, " ")
}

func lookup(t testing.TB, name string) *user.User {
	t.Helper()
	entry, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// open is a folder that every user may enter, as t.TempDir is not.
func open(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+string(filepath.Separator)); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestACommandRunsAsItsUser(t *testing.T) {
	task := command.Shell(`id -un; id -u; id -gn; id -G; echo "$HOME $USER $LOGNAME $SHELL"; umask`).WithUser(other)
	if !asRoot() {
		if s := execute(t, task, nil); s.result.Err == nil || !strings.Contains(s.result.Err.Error(), "only one that runs as root") {
			t.Errorf("the end is %v: %s", s.result.Err, s.output)
		}
		return
	}
	entry := lookup(t, other)
	groups, err := entry.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroupId(entry.Gid)
	if err != nil {
		t.Fatal(err)
	}
	e := command.New(command.Options{Environ: []string{"PATH=/bin:/usr/bin", "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/x", "KEPT=1"}})
	s := begin(t, e, task, ruqi.Execution{}).wait(t)
	want := fmt.Sprintf("%s\n%s\n%s\n%s\n%s %s %s /bin/sh\n", other, entry.Uid, group.Name, strings.Join(groups, " "), entry.HomeDir, other, other)
	if got := s.output.String(); s.result.Err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("it says %v\n%s, want\n%s", s.result.Err, got, want)
	}
	// What the task says of itself wins, and what is not about a user is the service's.
	s = begin(t, e, command.Shell(`echo "$HOME $USER $KEPT"`).WithUser(other).WithEnv(map[string]string{"HOME": "/h"}), ruqi.Execution{}).wait(t)
	s.succeeded(t, "/h "+other+" 1\n")
	// Rights are the user's: of the file system, and of signals.
	s = execute(t, command.Shell("cat /etc/shadow; echo > /etc/x; kill -0 1; true").WithUser(other), nil)
	if got := strings.ToLower(s.output.String()); strings.Count(got, "permi") != 3 {
		t.Errorf("it may do what root may:\n%s", got)
	}
	// A script can open its output anew.
	execute(t, command.Shell("echo a >/dev/stdout; echo b >>/dev/stderr").WithUser(other), nil).succeeded(t, "a\nb\n")
	execute(t, command.Argv("cat").WithUser(other).WithStdin("in"), nil).succeeded(t, "in")
}

func TestTheUserOfTheServiceMayBeNamedByAnyService(t *testing.T) {
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	groups := execute(t, command.Shell("id -G"), nil).output.String()
	execute(t, command.Shell(`id -un; id -G`).WithUser(own.Username), nil).succeeded(t, own.Username+"\n"+groups)
}

func TestAUserThatIsNotThereIsRefusedAtOnceAndAtTheStart(t *testing.T) {
	e := command.New(command.Options{})
	task := command.Shell("echo never").WithUser("no-such-user")
	if err := e.Vet(task); pointers(t, err) != "/user" || !strings.Contains(err.Error(), `there is no user "no-such-user"`) {
		t.Errorf("it is vetted with %v", err)
	}
	s := begin(t, e, task, ruqi.Execution{}).wait(t)
	if s.result.Err == nil || s.result.Err.Error() != `not started: user: there is no user "no-such-user" on this machine` || s.output.String() != "" {
		t.Errorf("the end is %v: %s", s.result.Err, s.output)
	}
	if err := e.Vet(command.Shell("x").WithUser(other)); asRoot() != (err == nil) {
		t.Errorf("another user is vetted with %v", err)
	}
}

// CM07, for a user who logs in.
func TestALoginHasTheEnvironmentOfItsUserAlone(t *testing.T) {
	home := open(t)
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("export FROM_PROFILE=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := command.New(command.Options{Environ: []string{"PATH=/x:/bin", "HOME=/wrong", "USER=wrong", "SECRET=secret1", "LANG=C", "LC_TIME=C", "TZ=UTC", "ENV=/x", "PWD=/wrong"}})
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	task := command.Argv("env").WithLogin().WithDir("/")
	s := begin(t, e, task, ruqi.Execution{}).wait(t)
	got := "\n" + s.output.String()
	for _, line := range []string{"HOME=" + own.HomeDir, "USER=" + own.Username, "LOGNAME=" + own.Username, "PATH=" + command.DefaultPath, "LANG=C", "LC_TIME=C", "TZ=UTC", "PWD=/", "RUQI_JOB_ID=reports/daily"} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
	if strings.Contains(got, "secret1") || strings.Contains(got, "wrong") || strings.Contains(got, "\nENV=") {
		t.Errorf("the service's environment is in\n%s", got)
	}
	// A shell reads the profile of whom it is told is at home.
	s = begin(t, e, command.Shell("echo $FROM_PROFILE").WithLogin().WithDir("/").WithEnv(map[string]string{"HOME": home}), ruqi.Execution{}).wait(t)
	s.succeeded(t, "1\n")
	begin(t, e, command.Shell("echo $FROM_PROFILE").WithDir("/").WithEnv(map[string]string{"HOME": home}), ruqi.Execution{}).wait(t).succeeded(t, "\n")
	// It starts at home, where there is one.
	s = begin(t, e, command.Shell("pwd").WithLogin(), ruqi.Execution{}).wait(t)
	if real, err := filepath.EvalSymlinks(own.HomeDir); err != nil {
		if s.result.Err == nil || !strings.Contains(s.result.Err.Error(), "home directory "+own.HomeDir+" (give the task a dir)") {
			t.Errorf("without a home: %v", s.result.Err)
		}
	} else if got := s.output.String(); got != real+"\n" && got != own.HomeDir+"\n" {
		t.Errorf("it is at %q, %v, home is %s", got, s.result.Err, own.HomeDir)
	}
	if !asRoot() {
		return
	}
	entry := lookup(t, other)
	s = begin(t, e, command.Argv("printenv", "HOME", "USER", "SHELL", "PATH").WithLogin().WithUser(other).WithDir("/"), ruqi.Execution{}).wait(t)
	s.succeeded(t, entry.HomeDir+"\n"+other+"\n/bin/sh\n"+command.DefaultPath+"\n")
	if _, err := os.Stat(entry.HomeDir); err != nil {
		s = begin(t, e, command.Shell("pwd").WithLogin().WithUser(other), ruqi.Execution{}).wait(t)
		if s.result.Err == nil || !strings.Contains(s.result.Err.Error(), "home directory "+entry.HomeDir+" (give the task a dir)") {
			t.Errorf("without a home: %v", s.result.Err)
		}
	}
}

// What would fail at each run is refused when the job is added.
func TestALoginWithoutAHomeIsRefusedAtOnce(t *testing.T) {
	e := command.New(command.Options{})
	for _, name := range []string{"", other} {
		entry := &user.User{}
		if own, err := user.Current(); name == "" && err == nil {
			entry = own
		} else if name != "" {
			entry = lookup(t, name)
		}
		if name != "" && !asRoot() {
			continue
		}
		task := command.Shell("pwd").WithLogin().WithUser(name)
		info, err := os.Stat(entry.HomeDir)
		there := err == nil && info.IsDir()
		if err := e.Vet(task); (err == nil) != there || !there && (pointers(t, err) != "/login" || !strings.Contains(err.Error(), entry.HomeDir) || !strings.Contains(err.Error(), "give the task a dir")) {
			t.Errorf("%q, at home in %s: %v", name, entry.HomeDir, err)
		}
		if err := e.Vet(task.WithDir("/")); err != nil {
			t.Errorf("%q, with a dir: %v", name, err)
		}
		if err := e.Vet(command.Shell("pwd").WithUser(name)); err != nil {
			t.Errorf("%q, without a login: %v", name, err)
		}
	}
}

func TestUmaskNiceAndLimits(t *testing.T) {
	report := "umask; nice; ulimit -S -t; ulimit -H -t; ulimit -v; ulimit -n; ulimit -u 2>/dev/null || ulimit -p"
	s := execute(t, command.Shell(report).WithUmask("027").WithNice(7).
		WithLimits(command.Limits{CPUTime: time.Minute, MemoryBytes: 1 << 30, OpenFiles: 64, Processes: 500}), nil)
	s.succeeded(t, "0027\n7\n60\n65\n1048576\n64\n500\n")
	// One alone leaves the others as the service has them.
	own := strings.Split(execute(t, command.Shell(report), nil).output.String(), "\n")
	for name, test := range map[string]struct {
		line int
		want string
		task *command.Task
	}{
		"umask":                       {0, "0077", command.Shell(report).WithUmask("077")},
		"a umask that takes nothing":  {0, "0000", command.Shell(report).WithUmask("0")},
		"nice":                        {1, "19", command.Shell(report).WithNice(19)},
		"address space, rounded up":   {4, "1000001", command.Shell(report).WithLimits(command.Limits{MemoryBytes: 1_000_000<<10 + 1})},
		"open files":                  {5, "16", command.Shell(report).WithLimits(command.Limits{OpenFiles: 16})},
		"processes":                   {6, "4321", command.Shell(report).WithLimits(command.Limits{Processes: 4321})},
		"through arguments, no shell": {5, "33", command.Argv("sh", "-c", report).WithLimits(command.Limits{OpenFiles: 33})},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(execute(t, test.task, nil).output.String(), "\n")
			want := append([]string{}, own...)
			want[test.line] = test.want
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("it has %q, want %q", got, want)
			}
		})
	}
	if asRoot() {
		execute(t, command.Shell("id -un; umask; nice; ulimit -n").WithUser(other).WithUmask("007").WithNice(3).WithLimits(command.Limits{OpenFiles: 50}), nil).succeeded(t, other+"\n0007\n3\n50\n")
	}
}

func TestALimitEndsWhatGoesBeyond(t *testing.T) {
	s := execute(t, command.Shell("while :; do :; done").WithLimits(command.Limits{CPUTime: time.Second}), nil)
	if s.result.Signal != "SIGXCPU" || s.took > bound {
		t.Errorf("after %s the end is %+v", s.took, s.result)
	}
	s = execute(t, command.Shell("trap '' XCPU; while :; do :; done").WithLimits(command.Limits{CPUTime: time.Second}), nil)
	if s.result.Signal != "SIGKILL" || s.took > 3*bound {
		t.Errorf("one that is deaf ends after %s as %+v", s.took, s.result)
	}
	s = execute(t, command.Shell("head -c 400000000 /dev/zero | tail -n 1 >/dev/null").WithLimits(command.Limits{MemoryBytes: 100 << 20}), nil)
	if s.result.Err == nil || s.result.MaxRSS > 200<<20 {
		t.Errorf("400 MB in 100 MiB end as %+v: %s", s.result, s.output)
	}
	s = execute(t, command.Shell("for i in 3 4 5 6 7 8 9; do eval \"exec $i</dev/null\" || exit 1; done; cat /dev/null /dev/null; sh -c 'exec 20</dev/null'").WithLimits(command.Limits{OpenFiles: 16}), nil)
	if s.result.Err == nil {
		t.Errorf("descriptor 20 of 16 is opened: %s", s.output)
	}
}

// The program is the one process that was started, with its own pipes and nothing of the wrapper.
func TestNothingIsLeftOfTheWrapper(t *testing.T) {
	e := command.New(command.Options{})
	limits := command.Limits{OpenFiles: 100}
	s := begin(t, e, command.Shell(`for i in 3 4 5 6 7 8 9; do (: <&$i) 2>/dev/null && echo open $i; done; ps -o args= -p $$; echo $PPID`).WithLimits(limits).WithNice(1), ruqi.Execution{}).wait(t)
	lines := strings.Split(s.output.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "/bin/sh -c for i") || lines[1] != fmt.Sprint(os.Getpid()) {
		t.Errorf("it says %v\n%s", s.result.Err, s.output)
	}
	for code := range 3 {
		execute(t, command.Shell(fmt.Sprintf("exit %d", code)).WithLimits(limits), nil).exited(t, code)
	}
	s = execute(t, command.Shell("kill -KILL $$").WithUmask("077"), nil)
	if s.result.Signal != "SIGKILL" {
		t.Errorf("the end is %+v", s.result)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "-e"), []byte("#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	execute(t, command.Argv("./-e", "-x", "", "a b", "$(echo evil)", "'\n;").WithDir(dir).WithLimits(limits), nil).succeeded(t, "././-e|-x||a b|$(echo evil)|'\n;|")
	execute(t, command.Argv("-e", "a").WithEnv(map[string]string{"PATH": dir + ":/bin:/usr/bin"}).WithLimits(limits), nil).succeeded(t, filepath.Join(dir, "-e")+"|a|")
	// The run is ended like any other, also while the wrapper has not become the program.
	for i := range 30 {
		s := begin(t, e, command.Shell("sleep 300 & sleep 300").WithLimits(limits).WithNice(1), ruqi.Execution{})
		timer := time.NewTimer(time.Duration(i) * 100 * time.Microsecond)
		<-timer.C
		s.end(errStop)
		if s.wait(t); s.result.Err == nil {
			t.Fatal("it succeeded")
		}
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("children are left: %q", left)
	}
}

func TestWhatCannotBeSetOrStartedSaysWhy(t *testing.T) {
	dir := open(t)
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, private := file("plain", "x", 0o644), file("private", "#!/bin/sh\n", 0o700)
	type trial struct {
		task *command.Task
		want string
	}
	tests := map[string]trial{
		"a path that does not exist": {command.Argv("/no/such/secret1").WithNice(1), "the program does not exist"},
		"a name in no directory":     {command.Argv("no-such-secret1").WithNice(1), "in no directory of PATH"},
		"a file that is no program":  {command.Argv(plain, "secret1").WithNice(1), "not executable"},
		"a directory":                {command.Argv(dir, "secret1").WithNice(1), "is a directory"},
		"a missing shell":            {command.Shell("echo secret1").WithShell("/no/such/shell").WithUmask("077"), "the shell /no/such/shell does not exist"},
		"a missing dir":              {command.Shell("echo secret1").WithDir("/no/such").WithUmask("077"), "the directory /no/such"},
	}
	if asRoot() {
		tests["a program of another user"] = trial{command.Argv(private, "secret1").WithUser(other), "the user " + other + " may not execute the program"}
		tests["a program of another user, with limits"] = trial{command.Argv(private, "secret1").WithUser(other).WithNice(1), "the user " + other + " may not execute the program"}
		tests["a dir of another user"] = trial{command.Shell("echo secret1").WithDir("/root").WithUser(other), "the user " + other + " may not"}
		tests["a limit above the service's own"] = trial{command.Shell("echo secret1").WithUser(other).WithLimits(command.Limits{OpenFiles: 1 << 30}), "its limit of open_files cannot be set"}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := execute(t, test.task, nil)
			if s.result.Err == nil || s.result.ExitCode != nil || s.output.String() != "" {
				t.Fatalf("the end is %+v, the output %q", s.result, s.output)
			}
			if reason := s.result.Err.Error(); !strings.HasPrefix(reason, "not started: ") || !strings.Contains(reason, test.want) || strings.Contains(reason, "secret1") {
				t.Errorf("the reason is %q", reason)
			}
		})
	}
}

func TestACommandOfAnotherUserIsEndedWithAllItStarted(t *testing.T) {
	name := other
	if !asRoot() {
		own, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		name = own.Username
	}
	script := `trap "" TERM; echo $$; sleep 300 & echo $!; setsid sleep 300 & echo $!; echo ready; while :; do wait; done`
	s := begin(t, command.New(command.Options{}), command.Shell(script).WithUser(name).WithLimits(command.Limits{OpenFiles: 100}), ruqi.Execution{KillGrace: 200 * time.Millisecond})
	all := pids(t, s.output.await(t, "ready"))
	s.end(errStop)
	s.wait(t)
	if s.result.Signal != "SIGKILL" {
		t.Errorf("the end is %+v", s.result)
	}
	wantGone(t, all)
}
