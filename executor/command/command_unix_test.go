//go:build unix

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/executortest"
)

func TestLaws(t *testing.T) {
	for name, options := range map[string]command.Options{"plain": {}, "with control groups where there are any": {Cgroups: true}} {
		t.Run(name, func(t *testing.T) { obey(t, options) })
	}
}

func obey(t *testing.T, options command.Options) {
	target := executortest.Target{
		Executor: command.New(options),
		Accepted: accepted,
		Succeed:  command.Shell("echo hello; echo world >&2"), Says: "hello\nworld\n",
		Fail:     command.Shell("exit 7"),
		Wait:     command.Argv("sleep", "300"),
		Chat:     command.Shell("while :; do echo chat; done"),
		Stubborn: command.Shell("trap '' TERM; while :; do sleep 300; done"),
		Haunt:    command.Shell("(while :; do echo boo || exit; sleep 0.01; done) &"),
		Without:  map[string]string{"panic": "a program cannot panic"},
	}
	for text, pointers := range refused {
		target.Refused = append(target.Refused, executortest.Refused{Text: text, Pointers: pointers})
	}
	executortest.Run(t, target)
}

func TestExitStatusIsTheReason(t *testing.T) {
	s := execute(t, command.Shell("exit 7"), nil)
	s.exited(t, 7)
	if s.result.Err == nil || s.result.Err.Error() != "exit status 7" {
		t.Errorf("the reason is %v", s.result.Err)
	}
	s = execute(t, command.Shell("exit 0"), nil)
	s.exited(t, 0)
	s.succeeded(t, "")
}

func TestALineReachesNoShell(t *testing.T) {
	s := execute(t, command.Line(`printf '%s|' "a b" $HOME $(id) ;x >y \* '' # z`), nil)
	s.succeeded(t, "a b|$HOME|$(id)|;x|>y|*||#|z|")
}

func TestAThousandShortJobsKeepTheirExitCodes(t *testing.T) {
	e := command.New(command.Options{})
	next := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range next {
				s := begin(t, e, command.Shell(fmt.Sprintf("echo %d; exit %d", n, n%3)), ruqi.Execution{}).wait(t)
				s.exited(t, n%3)
				if want := fmt.Sprintln(n); s.output.String() != want {
					t.Errorf("the output of job %d is %q", n, s.output)
				}
			}
		})
	}
	for n := range 1000 {
		next <- n
	}
	close(next)
	all.Wait()
}

func TestAChildKilledFromOutsideEndsTheRunWithItsSignal(t *testing.T) {
	s := begin(t, command.New(command.Options{}), command.Shell("echo $$; exec sleep 300"), ruqi.Execution{})
	pid := pids(t, s.output.await(t, "\n"))[0]
	syscall.Kill(pid, syscall.SIGKILL)
	s.end(nil) // and then somebody presses stop
	s.wait(t)
	if s.result.Signal != "SIGKILL" || s.result.ExitCode != nil || s.result.Err == nil || s.took > bound {
		t.Errorf("after %s the end is %+v", s.took, s.result)
	}
}

func TestOutputOfAnyBytesIsWhole(t *testing.T) {
	execute(t, command.Shell(`printf 'a\0b\377\n'`), nil).succeeded(t, "a\x00b\xff\n")
	execute(t, command.Shell("echo 1; echo 2 >&2; echo 3"), nil).succeeded(t, "1\n2\n3\n")
}

func TestTwentyMegabytesDoNotHoldTheRun(t *testing.T) {
	s := execute(t, command.Shell("yes | head -c 20000000"), nil)
	s.exited(t, 0)
	if n := len(s.output.String()); n != 20_000_000 || s.took > bound {
		t.Errorf("%d bytes in %s", n, s.took)
	}
}

func TestAMegabyteOnStandardErrorAndAFailure(t *testing.T) {
	s := execute(t, command.Shell("head -c 1000000 /dev/zero >&2; exit 1"), nil)
	s.exited(t, 1)
	if n := len(s.output.String()); n != 1_000_000 || len(s.result.Err.Error()) > 100 {
		t.Errorf("%d bytes, the reason is %v", n, s.result.Err)
	}
}

func TestFiftyThousandLinesASecondAreDrained(t *testing.T) {
	const lines = 200_000
	s := execute(t, command.Shell(fmt.Sprintf("seq 1 %d", lines)), nil)
	if got := strings.Count(s.output.String(), "\n"); got != lines || s.took > 10*lines/50_000*time.Second {
		t.Errorf("%d lines in %s", got, s.took)
	}
}

func TestStandardInput(t *testing.T) {
	execute(t, command.Argv("cat"), nil).succeeded(t, "")
	execute(t, command.Argv("cat").WithStdin("one\ntwo\n"), nil).succeeded(t, "one\ntwo\n")
	large := strings.Repeat("x", command.MostText)
	execute(t, command.Argv("cat").WithStdin(large), nil).succeeded(t, large)
	execute(t, command.Argv("true").WithStdin(large), nil).succeeded(t, "")
	// One that outlives the program holds the input without reading it.
	s := execute(t, command.Shell("sleep 300 <&0 >/dev/null 2>&1 & echo $!").WithStdin(large), nil)
	for _, pid := range pids(t, s.output.String()) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if s.took > bound {
		t.Errorf("it took %s", s.took)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	execute(t, command.Shell("pwd; echo $PWD").WithDir(dir), nil).succeeded(t, dir+"\n"+dir+"\n")
}

func TestUsageIsOfTheProgramAlone(t *testing.T) {
	s := execute(t, command.Shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), nil)
	if s.result.CPU <= 0 || s.result.CPU > s.took+time.Second {
		t.Errorf("CPU %s in %s", s.result.CPU, s.took)
	}
	// The service's own memory is larger than that of the program.
	ballast := make([]byte, 100<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	if rss := execute(t, command.Argv("true"), nil).result.MaxRSS; rss >= 100<<20 {
		t.Errorf("true took %d bytes", rss)
	}
	runtime.KeepAlive(ballast)
	// Where the service's peak is below that, the figure is exact; else it is what was seen, or 0.
	s = execute(t, command.Shell("head -c 400000000 /dev/zero | tail -n 1 >/dev/null"), nil)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	exact := own.Maxrss < 300_000 // KiB where it is not bytes
	if rss := s.result.MaxRSS; rss > 4<<30 || exact && rss < 300<<20 {
		t.Errorf("a program that holds 400 MB took %d bytes", rss)
	}
}

func TestWhatCannotBeStartedSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "hello", 0o600)
	for name, test := range map[string]struct {
		task *command.Task
		want string
	}{
		"a path that does not exist":    {command.Argv("/no/such/secret1"), "does not exist"},
		"a name in no directory":        {command.Argv("no-such-secret1"), "in no directory of PATH"},
		"a file that is no program":     {command.Argv(plain, "secret1"), "not executable"},
		"a directory":                   {command.Argv(dir, "secret1"), "is a directory"},
		"no executable format":          {command.Argv(file("text", "hello", 0o700), "secret1"), "no executable file"},
		"a missing interpreter":         {command.Argv(file("script", "#!/no/such\n", 0o700), "secret1"), "interpreter"},
		"a shell that does not exist":   {command.Shell("echo secret1").WithShell("/no/such/shell"), "the shell /no/such/shell does not exist"},
		"a directory that is not there": {command.Shell("echo secret1").WithDir("/no/such/dir"), "the directory /no/such/dir"},
		"a directory that is a file":    {command.Shell("echo secret1").WithDir(plain), "is no directory"},
	} {
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
	e := command.New(command.Options{Environ: []string{"PATH=/bin:/usr/bin", "LARGE=" + strings.Repeat("x", 8<<20)}})
	if s := begin(t, e, command.Shell("echo secret1"), ruqi.Execution{}).wait(t); s.result.Err == nil || !strings.Contains(s.result.Err.Error(), "too long") {
		t.Errorf("an environment of 8 MiB: %v", s.result.Err)
	}
}

func TestAReasonNeverHoldsTheCommand(t *testing.T) {
	for _, text := range []string{"exit 3 # secret1", "kill -9 $$ # secret1", "no-such-secret1", "'secret1"} {
		if s := execute(t, command.Shell(text), nil); s.result.Err == nil || strings.Contains(s.result.Err.Error()+s.result.Note, "secret1") {
			t.Errorf("%s: the reason is %v", text, s.result.Err)
		}
	}
}

func TestEnvironmentOfAServiceThatHasNone(t *testing.T) {
	e := command.New(command.Options{Environ: []string{}})
	s := begin(t, e, command.Shell(`set -u; cd ~; echo "$HOME" "$USER" "$LOGNAME" "$SHELL" "$PATH"; env | sort`), ruqi.Execution{}).wait(t)
	s.exited(t, 0)
	for _, name := range []string{"HOME=/", "USER=", "LOGNAME=", "SHELL=/", "PATH=/", "RUQI_JOB_ID=reports/daily", "RUQI_RUN_ID=4711", "RUQI_ATTEMPT=1", "RUQI_NOMINAL_TIME=1970-01-01T00:00:01Z"} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `.*$`).MatchString(s.output.String()) {
			t.Errorf("no %s… in\n%s", name, s.output)
		}
	}
}

func TestLayersOfTheEnvironment(t *testing.T) {
	e := command.New(command.Options{Environ: []string{
		"PATH=/bin:/usr/bin", "HOME=", "USER=me", "A=service", "B=service", "A=last", "RUQI_TOKEN=secret1", "RUQI_STORE=secret1", "broken",
	}})
	task := command.Shell("env").WithEnv(map[string]string{"B": "task", "RUQI_PARAM_X": "task", "RUQI_PARAM_Y": "task", "RUQI_RUN_ID": "0"})
	run := &ruqi.Run{
		ID: 7, JobID: "a", Attempt: 2, Nominal: time.Date(2026, 3, 1, 2, 30, 0, 1500, time.FixedZone("", 3600)),
		Params: []byte(`{"x":"a b\n$c","due-date":"d","n":1.50,"list":[1, {"a":null}],"no":null,"ключ":true,"a":"1","A":"2"}`),
	}
	s := begin(t, e, task, ruqi.Execution{Run: run}).wait(t)
	s.exited(t, 0)
	got := "\n" + s.output.String()
	for _, line := range []string{
		"A=last", "B=task", "USER=me", "LOGNAME=me", "RUQI_RUN_ID=7", "RUQI_JOB_ID=a", "RUQI_ATTEMPT=2", "RUQI_NOMINAL_TIME=2026-03-01T01:30:00.000001Z",
		"RUQI_PARAM_X=a b\n$c", "RUQI_PARAM_Y=task", "RUQI_PARAM_DUE_DATE=d", "RUQI_PARAM_N=1.50", `RUQI_PARAM_LIST=[1,{"a":null}]`,
		"RUQI_PARAM_NO=null", "RUQI_PARAM_____=true", "RUQI_PARAM_A=1",
	} {
		if strings.Count(got, "\n"+line+"\n") != 1 {
			t.Errorf("not once %q in\n%s", line, got)
		}
	}
	for _, line := range []string{"secret1", "A=service", "B=service", "broken", "HOME=\n", "RUQI_TOKEN"} {
		if strings.Contains(got, "\n"+line) || strings.Contains(got, "secret1") {
			t.Errorf("%q in\n%s", line, got)
		}
	}
}

func TestParamsThatNoEnvironmentCanHoldAreAFailedRun(t *testing.T) {
	for _, params := range []string{`{"a":"x\u0000y"}`, `[]`, `{`} {
		if s := execute(t, command.Shell("echo hi"), &ruqi.Run{Params: []byte(params)}); s.result.Err == nil || s.output.String() != "" {
			t.Errorf("%s: %v, %q", params, s.result.Err, s.output)
		}
	}
}

func TestANameIsLookedUpInThePathOfTheTask(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\necho hi\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	execute(t, command.Argv("greet").WithEnv(map[string]string{"PATH": "relative::" + dir + ":/bin"}), nil).succeeded(t, "hi\n")
}
