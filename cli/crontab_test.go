//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"
)

// tableOf writes a table into a folder of its own.
func tableOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sampleTable(name string) string { return filepath.Join("crontab", "testdata", name) }

// output starts a run of the job, waits for its end, and returns what it wrote.
func (s *service) outputOf(job string) string {
	s.t.Helper()
	var run struct{ ID json.Number }
	got := s.ruqi("job", "run", "--wait", job, "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &run); err != nil {
		s.t.Fatalf("%s: exit %d: %s%s: %v", job, got.status, got.out, got.errors, err)
	}
	return s.ok("run", "logs", run.ID.String())
}

func TestACrontabIsTakenOverOnce(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "Europe/Berlin")
	const lines = "# nightly\n0 1 * * * echo a\n30 1 * * * echo b\n0 2 * * * echo c\n0 2 * * * echo c"
	file := tableOf(t, "site.crontab", lines) // CM05: its last line has no newline
	got := s.ok("import", "crontab", file)
	for _, want := range []string{
		"created site/echo: active, next at ", "created site/echo-4: ", "4 jobs: 4 created, 0 changed, 0 unchanged; nothing was left out\n",
		"does not run, as in cron (--catch-up", "(--overlap skip", "in place of mail", "4 jobs: times in Europe/Berlin, the service's zone",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	first := s.versions()
	if got := s.ok("import", "crontab", file); !strings.Contains(got, "4 jobs: 0 created, 0 changed, 4 unchanged") || strings.Contains(got, "next at") {
		t.Errorf("again: %s", got)
	}
	edited := strings.Replace(lines, "30 1 * * * echo b", "45 1 * * * echo b", 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.ok("import", "crontab", file); !strings.Contains(got, "4 jobs: 0 created, 1 changed, 3 unchanged") || !strings.Contains(got, "changed site/echo-2: ") {
		t.Errorf("edited: %s", got)
	}
	for id, version := range s.versions() {
		if (version != first[id]) != (id == "site/echo-2") {
			t.Errorf("version %d of %s, was %d", version, id, first[id])
		}
	}
	if err := os.WriteFile(file, []byte("0 1 * * * echo a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := s.ruqi("import", "crontab", file, "--catch-up", "--overlap", "skip")
	if gone.status != 0 || strings.Count(gone.errors, "is not taken from it now") != 3 || !strings.Contains(gone.out, "fires that come late run, too; a fire is skipped") {
		t.Errorf("lines that went away: exit %d: %s%s", gone.status, gone.out, gone.errors)
	}
	if text := s.ok("job", "get", "site/echo", "-o", "json"); !strings.Contains(text, `"misfire_grace": null`) || !strings.Contains(text, `"overlap": "skip"`) {
		t.Errorf("--catch-up, --overlap: %s", text)
	}
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(s.ok("import", "crontab", file, sampleTable("01-plain.crontab"), "--prefix", "p/", "-o", "json")), &page); err != nil || len(page.Items) != 10 || page.Items[0].ID != "p/site/echo" {
		t.Errorf("as JSON: %+v, %v", page, err)
	}
}

func TestADryRunOfACrontab(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	dry := s.ruqi("import", "crontab", sampleTable("09-env-order.crontab"), "--dry-run")
	if dry.status != 0 || len(s.versions()) != 0 || !strings.Contains(dry.errors, "6 jobs would be added; nothing was left out") {
		t.Errorf("exit %d, %v: %s", dry.status, s.versions(), dry.errors)
	}
	jobs := tableOf(t, "jobs.yaml", dry.out)
	s.ok("job", "add", "--file", jobs)
	if got := s.ok("import", "crontab", sampleTable("09-env-order.crontab")); !strings.Contains(got, "6 unchanged") {
		t.Errorf("the job file of a dry run differs: %s", got)
	}
	evil := tableOf(t, "evil", "@daily echo \x1b[31m '\u202e' <a>&\U000e0001\n")
	hidden := s.ok("import", "crontab", evil, "--dry-run")
	if strings.ContainsFunc(hidden, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("what acts on a terminal is printed: %q", hidden)
	}
	s.ok("job", "add", "--file", tableOf(t, "evil.yaml", hidden))
	if got := s.ok("import", "crontab", evil); !strings.Contains(got, "1 unchanged") {
		t.Errorf("the job file of a dry run differs: %s", got)
	}
	if dry := s.ruqi("import", "crontab", sampleTable("user/faults.crontab"), "--dry-run"); dry.status != 1 || !strings.Contains(dry.errors, "1 job would be added; 19 lines not taken") {
		t.Errorf("exit %d: %s", dry.status, dry.errors)
	}
}

func TestALongCrontabGoesInByBatches(t *testing.T) {
	s := serve(t, t.TempDir(), "--tz", "UTC")
	var half, whole strings.Builder
	for i := range 450 {
		line := fmt.Sprintf("%d %d * * * run --part %d\n", i%60, i/60, i)
		whole.WriteString(line)
		if i < 230 {
			half.WriteString(line)
		}
	}
	file := tableOf(t, "long", half.String())
	s.ok("import", "crontab", file)
	if err := os.WriteFile(file, []byte(whole.String()+"0 0 * * * run \\\n0 25 * * * run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.ruqi("import", "crontab", file)
	if got.status != 1 || !strings.Contains(got.out, "451 jobs: 221 created, 0 changed, 230 unchanged; 1 line not taken") || !strings.HasPrefix(got.out, "created long/run-231: ") {
		t.Errorf("exit %d: %.300s%s", got.status, got.out, got.errors)
	}
	if n := len(s.versions()); n != 451 {
		t.Errorf("there are %d jobs", n)
	}
}

// CM01, CM03: what a % means in a table, and in a job.
func TestPercentSignsOfCrontabs(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	got := s.ruqi("import", "crontab", tableOf(t, "clock", "* * * * * date \"+%H:%M\" >> out.log\n0 22 * * 1-5 cat%one,%%two\n"))
	if got.status != 0 || !strings.Contains(got.errors, `:1: cron ends a command at the first bare %, also in quotes: this one is "date \"+"`) {
		t.Errorf("exit %d: %s", got.status, got.errors)
	}
	var job struct {
		Task struct{ Command, Stdin string }
	}
	if err := json.Unmarshal([]byte(s.ok("job", "get", "clock/date", "-o", "json")), &job); err != nil || job.Task.Command != `date "+` || job.Task.Stdin != "H:\nM\" >> out.log\n" {
		t.Errorf("%+v, %v", job, err)
	}
	s.ok("job", "add", "native", "--cron", "0 0 1 1 *", "--command", `date "+%H:%M"`)
	if out := s.outputOf("native"); !regexp.MustCompile(`^\d\d:\d\d\n$`).MatchString(out) {
		t.Errorf("a %% of a command itself: %q", out)
	}
	if out := s.outputOf("clock/cat"); out != "one,\n\ntwo\n" {
		t.Errorf("the input is %q", out)
	}
}

// CM09: variables hold from their line on.
func TestVariablesOfCrontabs(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	const note = ": CRON_TZ is the zone of the times below, as in cronie; Debian's cron gives it to the commands alone"
	got := s.ruqi("import", "crontab", sampleTable("09-env-order.crontab"))
	said := strings.Split(strings.TrimSpace(got.errors), "\n")
	if got.status != 0 || len(said) != 2 || !strings.HasSuffix(said[0], ":8"+note) || !strings.HasSuffix(said[1], ":10"+note) {
		t.Fatalf("exit %d: %s", got.status, got.errors)
	}
	for id, want := range map[string]string{
		"printenv": "one\n", "printenv-2": "two words\n", "printenv-3": "$A/bin\n", "printenv-4": "Asia/Tokyo\n", "echo": "utc\n", "printenv-5": "kept\n",
	} {
		if out := s.outputOf("09-env-order/" + id); out != want {
			t.Errorf("%s says %q, want %q", id, out, want)
		}
	}
	for id, want := range map[string]string{"printenv-4": " 09:00:00 +09:00", "echo": " 01:30:00 +00:00"} {
		if text := s.ok("job", "get", "09-env-order/"+id); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", id, want, text)
		}
	}
}

// CM13: the shell of a table, with what only that shell knows.
func TestTheShellOfACrontab(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("import", "crontab", sampleTable("02-bash.crontab"))
	if text := s.ok("job", "get", "02-bash/demo-2", "-o", "json"); !strings.Contains(text, `"shell": "/bin/bash"`) || !strings.Contains(text, `+%Y-%m-%d`) {
		t.Error(text)
	}
	if got := s.ruqi("job", "run", "--wait", "02-bash/demo-2"); got.status != 1 || !strings.Contains(got.out, "exit status 1") {
		t.Errorf("[[ -e GONE ]] is false in bash, and unknown elsewhere: exit %d: %s%s", got.status, got.out, got.errors)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "profile"), []byte("WORD=sourced\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := tableOf(t, "shell", "SHELL=/bin/bash\nHOME="+dir+"\n0 5 * * * source ~/profile &>> log; echo $WORD $PWD $(( RANDOM \\% 1 )) $SHELL $PATH\n")
	s.ok("import", "crontab", file)
	if out := s.outputOf("shell/echo"); out != "sourced "+dir+" 0 /bin/bash /usr/bin:/bin\n" {
		t.Errorf("it says %q", out)
	}
}

// CM11: a table whose lines name their user, read with the option, without it, and from its usual place.
func TestUsersOfSystemCrontabs(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	if got := s.ruqi("import", "crontab", sampleTable("03-system.crontab")); got.status != 1 || strings.Count(got.errors, "--system reads it as one") != 8 || len(s.versions()) != 0 {
		t.Errorf("without the option: exit %d: %s%s", got.status, got.out, got.errors)
	}
	if got := s.ruqi("import", "crontab", "--system", "--user", "", sampleTable("03-system.crontab")); got.status != 0 || !strings.Contains(got.out, "8 jobs: 8 created") {
		t.Errorf("with the option: exit %d: %s%s", got.status, got.out, got.errors)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "cron.d")
	if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"who": "0 5 * * * " + me.Username + " echo $LOGNAME in $PWD\n0 5 * * * nobody-of-that-name true\n", "who.bak": "0 5 * * * root x\n", ".placeholder": "", "$(touch x);": "0 5 * * * root x\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := s.ruqi("import", "crontab", folder)
	if got.status != 1 || strings.Count(got.errors, "passed over: cron reads no file of that name") != 3 || !strings.Contains(got.errors, "sub: passed over: no regular file") ||
		!strings.Contains(got.errors, "who:2: task.user: ") || !strings.Contains(got.out, "created who/echo: ") || !strings.Contains(got.out, "1 line not taken") {
		t.Errorf("a folder: exit %d: %s%s", got.status, got.out, got.errors)
	}
	if out := s.outputOf("who/echo"); out != me.Username+" in "+me.HomeDir+"\n" {
		t.Errorf("it says %q", out)
	}
}

// A table may be one user's, whoever reads it; a user that is not there is told with the line.
func TestATableThatMayBeOfEitherKindIsAskedAbout(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	const line = "0 5 * * * git /opt/bin/collect\n"
	file := tableOf(t, "web1", line)
	const ask = `web1:1: word 6, "git", may be a user, as in a system table, or a program, and the table does not say which: --system reads a table whose lines name their user, --system=false or --user one whose lines do not`
	if got := s.ruqi("import", "crontab", file); got.status != 1 || !strings.Contains(got.errors, ask) || strings.Contains(got.out, "created web1") {
		t.Errorf("exit %d: %s%s", got.status, got.out, got.errors)
	}
	spool := filepath.Join(t.TempDir(), "spool", "cron")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spool, "root"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--system=false", "--prefix", "a/", file}, {"--user", "", "--prefix", "b/", file}, {"--prefix", "c/", filepath.Join(spool, "root")}} {
		got := s.ok(append([]string{"import", "crontab", "--dry-run"}, args...)...)
		if !strings.Contains(got, "command: git /opt/bin/collect") {
			t.Errorf("%q: %s", args, got)
		}
	}
	if got := s.ruqi("import", "crontab", "--system", "--dry-run", file); !strings.Contains(got.errors, "git") && !strings.Contains(got.out, "user: git") || strings.Contains(got.out, "command: git") {
		t.Errorf("as a system table: %s%s", got.out, got.errors)
	}
}

func TestACrontabOfOneUser(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	file := tableOf(t, "own", "0 5 * * * echo $LOGNAME in $PWD\n")
	s.ok("import", "crontab", "--user", me.Username, file)
	if job := s.imported("own/echo"); job.Task.User != me.Username {
		t.Errorf("the job is %+v", job)
	}
	if out := s.outputOf("own/echo"); out != me.Username+" in "+me.HomeDir+"\n" {
		t.Errorf("it says %q", out)
	}
	if got := s.ruqi("import", "crontab", "--user", "nobody-of-that-name", "--prefix", "x/", file); got.status != 1 || !strings.Contains(got.errors, file+":1: task.user: ") || len(s.versions()) != 1 {
		t.Errorf("another's: exit %d: %s%s", got.status, got.out, got.errors)
	}
}

// RC13: weekdays of APScheduler, beside what is refused.
func TestCrontabsThatCannotBeTakenWhole(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	file := sampleTable("user/faults.crontab")
	got := s.ruqi("import", "crontab", file)
	if got.status != 1 || !strings.Contains(got.errors, file+":1: minute: 60 is out of range") || strings.Count(got.errors, file+":") != 20 || !strings.Contains(got.out, "1 job: 1 created, 0 changed, 0 unchanged; 19 lines not taken") {
		t.Errorf("exit %d: %s%s", got.status, got.out, got.errors)
	}
	s.ok("job", "add", "t/mine", "--every", "1h", "--command", "true")
	if got := s.ruqi("import", "crontab", tableOf(t, "t", "@daily mine\n@daily other\n")); got.status != 1 || !strings.Contains(got.errors, "t/mine is taken by a job that came from no crontab") || !strings.Contains(got.out, "created t/other") {
		t.Errorf("another's id: exit %d: %s%s", got.status, got.out, got.errors)
	}
	a, b := tableOf(t, "t", "@daily x\n"), tableOf(t, "t", "@daily x\n")
	if got := s.ruqi("import", "crontab", a, b); got.status != 1 || !strings.Contains(got.errors, b+":1: its id t/x is that of "+a+":1") {
		t.Errorf("two files of one name: exit %d: %s", got.status, got.errors)
	}
	evil := tableOf(t, "evil", "# \x1b[2Jcleared\x07\n@daily echo \x1b[31m\n0 99 * * * \x1b]0;x\x07\n")
	if got := s.ruqi("import", "crontab", evil); got.status != 1 || strings.ContainsAny(got.out+got.errors, "\x1b\x07") {
		t.Errorf("what acts on a terminal is printed: %q %q", got.out, got.errors)
	}
	if got := run(t, map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": s.dir}, "0 9 * * 0 from-stdin\n", "import", "crontab", "-", "--dialect", "ruqi", "--user", ""); got.status != 0 ||
		!strings.Contains(got.errors, "standard input:1: weekday 0 counts from 0 = Monday") || !strings.Contains(s.ok("job", "get", "crontab/from-stdin"), "0 0 9 * * mon") {
		t.Errorf("RC13: exit %d: %s%s", got.status, got.out, got.errors)
	}
	s.fails(2, "--tz", "import", "crontab", "--tz", "Nowhere/Else", file)
	s.fails(2, "--overlap", "import", "crontab", "--overlap", "sometimes", file)
	s.fails(2, "--dialect", "import", "crontab", "--dialect", "quartz", file)
	s.fails(2, "no such file", "import", "crontab", "gone")
	s.fails(2, "at least one file", "import", "crontab")
	s.fails(5, "--server", "import", "crontab", sampleTable("01-plain.crontab"), "--server", "http://127.0.0.1:1")
}

func TestRebootInACrontab(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	if got := s.ok("import", "crontab", tableOf(t, "boot", "@reboot echo up\n")); !strings.Contains(got, "created boot/echo: active, no fire to come") {
		t.Error(got)
	}
	if runs := s.ok("run", "list", "--job", "boot/echo", "-o", "json"); strings.Contains(runs, "startup") {
		t.Errorf("it ran when it was added: %s", runs)
	}
	s.signal(syscall.SIGTERM)
	s.wait()
	s = serve(t, dir)
	s.eventually("it runs at the next start", func() bool {
		runs := s.ok("run", "list", "--job", "boot/echo")
		return strings.Contains(runs, "startup") && strings.Contains(runs, "succeeded")
	})
	if table := s.ok("export", "crontab"); !strings.Contains(table, "\n@reboot echo up\n") {
		t.Error(table)
	}
}

// RC10, RC11: the zone of a table that names none.
func TestTheZoneOfACrontab(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	got := s.ok("import", "crontab", sampleTable("01-plain.crontab"), "--tz", "Australia/Brisbane")
	if !strings.Contains(got, "9 jobs: times in Australia/Brisbane\n") || strings.Count(got, " +10:00") != 9 {
		t.Error(got)
	}
}

func TestACrontabOfTheJobsThatThereAre(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	s.ok("import", "crontab", sampleTable("09-env-order.crontab"), sampleTable("user/percent.crontab"))
	s.ok("job", "add", "other", "--every", "1h", "--command", "true")
	got := s.ruqi("export", "crontab", "--tz", "UTC")
	if got.status != 1 || !strings.Contains(got.errors, "other: not in the table: cron has no intervals") || !strings.Contains(got.out, "# other: cron has no intervals\n") {
		t.Errorf("exit %d: %s", got.status, got.errors)
	}
	table := s.ok("export", "crontab", "--tz", "UTC", "--prefix", "percent/")
	if !strings.Contains(table, "\n0 22 * * mon-fri cat%one,%%two\n") || strings.Contains(table, "printenv") {
		t.Errorf("the table is\n%s", table)
	}
	to := serve(t, t.TempDir(), "--store", "memory:", "--tz", "UTC")
	if got := to.ok("import", "crontab", tableOf(t, "percent.crontab", table)); !strings.Contains(got, "7 jobs: 7 created") {
		t.Error(got)
	}
	if again := to.ok("export", "crontab", "--tz", "UTC", "--tag", "crontab"); again != table {
		t.Errorf("written twice, a table is\n%s\nand was\n%s", again, table)
	}
	s.fails(2, "--tz", "export", "crontab", "--tz", "x")
}
