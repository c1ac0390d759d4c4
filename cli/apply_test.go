//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// files writes files into a folder; an empty text removes one.
func files(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && text == "" {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hourly is a job file of one job.
func hourly(id, command string, more ...string) string {
	return fmt.Sprintf("id: %s\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: %s}\n%s", id, command, strings.Join(more, "\n"))
}

// has wants each text once in what a command said.
func has(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
}

// lacks wants none of the texts.
func lacks(t *testing.T, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(got, text) {
			t.Errorf("%q is there:\n%s", text, got)
		}
	}
}

func TestJobFilesAreAppliedAndAppliedAgain(t *testing.T) { // NM01, NM03, NM05, NM07, XI01
	s := serve(t, t.TempDir())
	dir := t.TempDir()
	long := strings.Repeat("x", 254)
	files(t, dir, map[string]string{
		"a.yaml":      hourly("hello", "echo one") + "---\n# nothing\n---\n" + hourly("etl/daily/part 1", "echo two", "labels: {team: ops}", "tags: [a, b]"),
		"sub/b.yml":   hourly(`'"night" o''clock'`, "x") + "---\n" + hourly("отчёт-日次-🙂", "x") + "---\n" + hourly(`"a\u200fb"`, "x") + "---\n" + hourly("<script>alert(1)</script>", "x"),
		"sub/c.yaml":  hourly(long+"a", "x") + "---\n" + hourly(long+"b", "x") + "---\n" + hourly("'-'", "x"),
		".draft.yaml": "this: is no job",
	})
	dry := s.ruqi("apply", "-f", dir, "--set", "mine", "--dry-run")
	has(t, dry.out, "created hello: active, next at ", "created etl/daily/part 1: ", `created "night" o'clock: `, `created a\u200fb: `, "9 created, 0 changed, 0 unchanged, 0 removed\n")
	if dry.status != 0 || len(s.versions()) != 0 || !strings.Contains(dry.errors, "--dry-run") {
		t.Fatalf("a dry run: %+v, the jobs are %v", dry, s.versions())
	}
	differ := s.ruqi("diff", "-f", dir, "--set", "mine")
	if differ.status != 1 {
		t.Errorf("diff: %+v", differ)
	}
	has(t, differ.out, "+ hello  ("+dir+"/a.yaml:1:1)\n", `    task.command: "echo one"`, "9 to create, 0 to change, 0 unchanged, 0 to remove\n")
	has(t, s.ok("apply", "-f", dir, "--set", "mine"), "9 created, 0 changed, 0 unchanged, 0 removed\n")
	first := s.versions()
	if len(first) != 9 || first[`"night" o'clock`] != 1 || first[long+"a"] != 1 || first["-"] != 1 {
		t.Fatalf("the jobs are %v", first)
	}
	has(t, s.ok("apply", "-f", dir, "--set", "mine"), "unchanged hello\n", "0 created, 0 changed, 9 unchanged, 0 removed\n")
	if got := s.ok("diff", "-f", dir, "--set", "mine", "--prune"); got != "0 to create, 0 to change, 9 unchanged, 0 to remove\n" {
		t.Errorf("diff: %s", got)
	}

	files(t, dir, map[string]string{
		"a.yaml": hourly("hello", "echo three") + "---\n" + strings.Replace(hourly("etl/daily/part 1", "echo two", "labels: {team: dev}", "tags: [b]"), "1h", "2h", 1),
	})
	// What is rehearsed does not stand in the way of what is applied.
	files(t, dir, map[string]string{"other.txt": strings.Replace(hourly("hello", "echo three"), "1h", "3h", 1)})
	has(t, s.ok("apply", "-f", filepath.Join(dir, "other.txt"), "--set", "mine", "--dry-run"), "changed hello: ")
	differ = s.ruqi("diff", "-f", dir, "--set", "mine")
	has(t, differ.out, "~ hello  (", `    task.command: "echo one" -> "echo three"`, `    tags: ["a","b"] -> ["b"]`, `    labels.team: "ops" -> "dev"`, `    trigger.every: "1h" -> "2h"`,
		"0 to create, 2 to change, 7 unchanged, 0 to remove\n")
	if lacks(t, differ.out, "anchor", "zone", "policy", "ruqi.dev/set"); differ.status != 1 {
		t.Errorf("diff: exit %d", differ.status)
	}
	has(t, s.ok("apply", "-f", dir, "--set", "mine"), "changed hello: ", "0 created, 2 changed, 7 unchanged, 0 removed\n")
	if now := s.versions(); now["hello"] != 2 || now["etl/daily/part 1"] != 2 || now["-"] != 1 {
		t.Errorf("the versions are %v", now)
	}
	if got := s.ok("job", "get", "hello"); !strings.Contains(got, "echo three") || !strings.Contains(got, "every 1h\n") || !strings.Contains(got, "ruqi.dev/set=mine") {
		t.Errorf("hello is now\n%s", got)
	}

	files(t, dir, map[string]string{"sub/b.yml": "", "sub/c.yaml": ""})
	differ = s.ruqi("diff", "-f", dir, "--set", "mine", "--prune")
	has(t, differ.out, "- \"night\" o'clock\n", `- a\u200fb`, "0 to create, 0 to change, 2 unchanged, 7 to remove\n")
	has(t, s.ok("apply", "-f", dir, "--set", "mine"), "0 created, 0 changed, 2 unchanged, 0 removed\n") // nothing goes without being asked
	has(t, s.ok("apply", "-f", dir, "--set", "mine", "--prune"), "removed \"night\" o'clock\n", "0 created, 0 changed, 2 unchanged, 7 removed\n")
	if now := s.versions(); len(now) != 2 {
		t.Errorf("left are %v", now)
	}
}

func TestSetsLeaveEachOthersJobsAlone(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "by-hand", "--every", "1h", "--command", "x")
	s.ok("job", "add", "found", "--every", "1h", "--command", "x", "--label", "team=ops")
	one, two := t.TempDir(), t.TempDir()
	files(t, one, map[string]string{"a.yaml": hourly("a", "x") + "---\n" + hourly("shared", "x")})
	files(t, two, map[string]string{"b.yaml": hourly("b", "x"), "c.yaml": hourly("c", "x")})
	s.ok("apply", "-f", one, "--set", "one", "--prune")
	s.ok("apply", "-f", two, "--set", "two", "--prune")
	files(t, two, map[string]string{"c.yaml": ""})
	has(t, s.ok("apply", "-f", two, "--set", "two", "--prune"), "removed c\n", "1 removed\n")
	if now := s.versions(); len(now) != 5 || now["by-hand"] != 1 || now["a"] != 1 || now["shared"] != 1 {
		t.Errorf("the jobs are %v", now)
	}
	// A job of another set is taken only when that is said; nothing else of the files happens until then.
	files(t, two, map[string]string{"c.yaml": hourly("c", "x"), "shared.yaml": hourly("shared", "y")})
	for _, cmd := range []string{"apply", "diff"} {
		s.fails(2, two+`/shared.yaml:1:1: id: "shared" belongs to the set "one"; --take-over takes the job from it`, cmd, "-f", two, "--set", "two", "--prune")
		s.fails(2, `belongs to the set "one"; --set one names it`, cmd, "-f", filepath.Join(two, "shared.yaml"))
	}
	if now := s.versions(); now["c"] != 0 || now["shared"] != 1 {
		t.Errorf("the jobs are %v", now)
	}
	got := s.ruqi("apply", "-f", two, "--set", "two", "--take-over")
	has(t, got.errors, "shared: belonged to the set one, and is taken into the set two\n")
	has(t, got.out, "changed shared: ", "created c: ")
	files(t, one, map[string]string{"a.yaml": hourly("a", "x")})
	has(t, s.ok("apply", "-f", one, "--set", "one", "--prune"), "0 created, 0 changed, 1 unchanged, 0 removed\n")
	// What belongs to nobody is taken, with a word.
	files(t, one, map[string]string{"found.yaml": hourly("found", "x", "labels: {team: ops}")})
	got = s.ruqi("apply", "-f", one, "--set", "one")
	has(t, got.errors, "found: belonged to nobody, and is taken into the set one\n")
	has(t, got.out, "changed found: ", "0 created, 1 changed, 1 unchanged, 0 removed\n")
	// Without a set jobs are nobody's.
	has(t, s.ok("apply", "-f", filepath.Join(one, "a.yaml"), "--set", "one"), "unchanged a\n")
	plain := t.TempDir()
	files(t, plain, map[string]string{"p.yaml": hourly("plain", "x")})
	s.ok("apply", "-f", plain)
	lacks(t, s.ok("job", "get", "plain"), "ruqi.dev/set")

	files(t, plain, map[string]string{"p.yaml": "# none\n"})
	s.fails(2, "there is no job in", "apply", "-f", plain, "--set", "one", "--prune")
	s.fails(2, "--set NAME", "apply", "-f", one, "--prune")
	s.fails(2, "--set NAME", "diff", "-f", one, "--take-over")
	s.fails(2, "--set: empty", "apply", "-f", one, "--set", "")
	s.fails(2, "can be printed", "apply", "-f", one, "--set", "a\x1b[31m")
	s.fails(2, "-f PATH", "apply")
	files(t, plain, map[string]string{"p.yaml": hourly("plain", "x", "labels: {ruqi.dev/set: one}")})
	s.fails(2, `p.yaml:4:10: labels.ruqi.dev/set: "one", but what says to which set a job belongs is --set`, "apply", "-f", plain)
	if len(s.versions()) != 7 {
		t.Errorf("the jobs are %v", s.versions())
	}
}

func TestNothingHappensWhenOneFileIsWrong(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "old", "--every", "1h", "--command", "x", "--label", "ruqi.dev/set=mine")
	dir := t.TempDir()
	const when = "trigger: {kind: interval, every: 1h}\n"
	files(t, dir, map[string]string{
		"good.yaml":    hourly("good", "x"),
		"a-guard.yaml": "id: guarded\n" + when + "task:\n  kind: webhook\n  url: http://127.0.0.1/x\n",
		"b-func.yaml":  "id: func\n" + when + "task: {kind: func, name: nobody}\n",
		"c-kind.yaml":  "id: kind\n" + when + "task: {kind: teleport}\n",
		"d-past.yaml":  "id: past\ntrigger: {kind: date, at: 2020-01-01T00:00:00Z}\ntask: {kind: command, command: x}\n",
		"e-local.yaml": hourly("local", "x", "priority: high"),
		"f-yaml.yaml":  "id: [x\n",
		"g-twice.yaml": hourly("good", "x"),
		"h-zone.yaml":  "id: zone\ntrigger: {kind: cron, expr: 0 0 * * *, zone: Nowhere/Else}\ntask: {kind: command, command: x}\n",
	})
	for _, cmd := range []string{"apply", "diff"} {
		got := s.ruqi(cmd, "-f", dir, "--set", "mine", "--prune")
		if got.status != 2 || got.out != "" {
			t.Errorf("%s: exit %d: %s", cmd, got.status, got.out)
		}
		has(t, got.errors, dir+"/a-guard.yaml:5:3: task.url: ", dir+"/b-func.yaml:3:", dir+"/c-kind.yaml:3:8: task.kind: ", dir+"/d-past.yaml:2:", "no fire time left",
			dir+"/e-local.yaml:4:1: priority: not a whole number", dir+"/f-yaml.yaml:1:", dir+"/good.yaml:1:1: id: \"good\" stands also at "+dir+"/g-twice.yaml:1:1\n", dir+"/h-zone.yaml:2:40: trigger.zone: ")
		if strings.Count(got.errors, "\n") != 8 {
			t.Errorf("%s tells:\n%s", cmd, got.errors)
		}
	}
	if now := s.versions(); len(now) != 1 || now["old"] != 1 {
		t.Errorf("the jobs are %v", now)
	}
	// Without a service the files are judged as far as they can be.
	if got := run(t, unreachable, "", "apply", "-f", dir); got.status != 2 || !strings.Contains(got.errors, "e-local.yaml") {
		t.Errorf("without a service: %+v", got)
	}
	if got := run(t, unreachable, hourly("x", "x"), "diff", "-f", "-"); got.status != 5 || got.out != "" {
		t.Errorf("without a service: %+v", got)
	}
	if got := run(t, unreachable, hourly("x", "x"), "apply", "-f", "-"); got.status != 5 || !strings.Contains(got.errors, "nothing was changed") {
		t.Errorf("without a service: %+v", got)
	}
}

func TestAPausedJobStaysPausedUnlessTheFileSaysOtherwise(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	path := filepath.Join(t.TempDir(), "x.yaml")
	state := func() string {
		var job struct{ State string }
		if err := json.Unmarshal([]byte(s.ok("job", "get", "x", "-o", "json")), &job); err != nil {
			t.Fatal(err)
		}
		return job.State
	}
	for i, c := range []struct{ before, text, said, after string }{
		{"", hourly("x", "a"), "created x: active", "active"},
		{"pause", hourly("x", "a"), "unchanged x", "paused"},
		{"", hourly("x", "b"), "changed x: paused", "paused"},
		{"", hourly("x", "b", "state: active"), "changed x: active", "active"},
		{"", hourly("x", "b", "state: active"), "unchanged x", "active"},
		{"", hourly("x", "c", "state: paused"), "changed x: paused", "paused"},
		{"", hourly("x", "c", "state: paused"), "unchanged x", "paused"},
		{"resume", hourly("x", "c", "state: paused"), "changed x: paused", "paused"},
		{"", hourly("x", "d", "state: active"), "changed x: active", "active"},
	} {
		if c.before != "" {
			s.ok("job", c.before, "x")
		}
		files(t, filepath.Dir(path), map[string]string{"x.yaml": c.text})
		differ := s.ruqi("diff", "-f", path)
		if want := strings.HasPrefix(c.said, "unchanged"); (differ.status == 0) != want || !want && differ.status != 1 {
			t.Errorf("%d: diff: %+v", i, differ)
		}
		if dry, got := s.ok("apply", "-f", path, "--dry-run"), s.ok("apply", "-f", path); !strings.HasPrefix(got, c.said) || !strings.HasPrefix(dry, c.said) || state() != c.after {
			t.Errorf("%d: it said %q, when dry %q, and the job is %s", i, got, dry, state())
		}
	}
}

func TestAJobThatHasFinishedStaysSo(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	path := filepath.Join(t.TempDir(), "x.yaml")
	once := func(at time.Time, more string) {
		text := fmt.Sprintf("id: once\ntrigger: {kind: date, at: %s}\ntask: {kind: command, command: 'true'}\n%s", at.Format(time.RFC3339Nano), more)
		files(t, filepath.Dir(path), map[string]string{"x.yaml": text})
	}
	now := time.Now()
	once(now, "")
	s.ok("apply", "-f", path, "--set", "mine")
	s.eventually("it has run", func() bool {
		return strings.Contains(s.ok("job", "list", "--state", "finished"), "once") && strings.Contains(s.ok("run", "list", "--job", "once"), "succeeded")
	})
	has(t, s.ok("apply", "-f", path, "--set", "mine", "--prune"), "unchanged once\n")
	once(now, "state: active\n")
	has(t, s.ok("apply", "-f", path, "--set", "mine"), "unchanged once\n")
	once(now.AddDate(1, 0, 0), "")
	has(t, s.ruqi("diff", "-f", path, "--set", "mine").out, `    state: "finished" -> "active"`)
	has(t, s.ok("apply", "-f", path, "--set", "mine"), "changed once: active, next at ")
	if got := s.ok("run", "list", "--job", "once"); strings.Count(got, "succeeded") != 1 {
		t.Errorf("its runs:\n%s", got)
	}
}

func TestSecretsAndWhatActsOnATerminalAreNotShown(t *testing.T) { // LE03, XI01
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1")
	path := filepath.Join(t.TempDir(), "x.yaml")
	job := func(secret, word string) map[string]string {
		return map[string]string{"x.yaml": "id: hook\ntrigger: {kind: interval, every: 1h}\ntask:\n  kind: webhook\n  url: http://127.0.0.1:9/x\n  headers: {authorization: Bearer " + secret + ", X-Word: " + word + "}\n"}
	}
	files(t, filepath.Dir(path), job("secret1", "one"))
	all := s.ruqi("diff", "-f", path).out + s.ok("apply", "-f", path)
	files(t, filepath.Dir(path), job("secret2", "one"))
	differ := s.ruqi("diff", "-f", path)
	has(t, differ.out, "~ hook  (", "    task: a secret that is not shown\n")
	all += differ.out + s.ok("apply", "-f", path)
	has(t, all, "changed hook: ")
	has(t, s.ok("apply", "-f", path), "unchanged hook\n")
	files(t, filepath.Dir(path), job("secret2", `"\e[31m\u202ered"`))
	s.fails(2, "x.yaml:6:", "apply", "-f", path) // no header holds that
	files(t, filepath.Dir(path), map[string]string{"x.yaml": hourly("t", `"echo \e[31m\u202ered\nsecond"`, `description: "\e]0;title\a"`)})
	s.ok("apply", "-f", path)
	files(t, filepath.Dir(path), map[string]string{"x.yaml": hourly("t", `"echo \e[32mgreen\nsecond"`)})
	differ = s.ruqi("diff", "-f", path)
	has(t, differ.out, `      - echo \x1b[31m\u202ered`, `      + echo \x1b[32mgreen`, `    description: "\u001b]0;title\u0007" -> ""`)
	lacks(t, differ.out, "second", "\x1b", "\u202e", "\a")
	all += differ.out + s.ruqi("diff", "-f", path, "-o", "json").out
	lacks(t, all, "secret1", "secret2", "\x1b")
}

func TestApplyAndDiffAsJSON(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	dir := t.TempDir()
	files(t, dir, map[string]string{"a.yaml": hourly("a", "x") + "---\n" + hourly("b", "x"), "c.yaml": hourly("c", "x")})
	s.ok("apply", "-f", filepath.Join(dir, "a.yaml"), filepath.Join(dir, "c.yaml"), "--set", "mine") // as a pattern of the shell gives them
	files(t, dir, map[string]string{"a.yaml": hourly("a", "y") + "---\n" + hourly("b", "x") + "---\n" + hourly("d", "x"), "c.yaml": ""})
	type answer struct {
		Items []struct {
			ID, Action, File string
			Done             *bool
			Changes          []struct {
				Pointer  string
				Old, New any
			}
		}
		Summary map[string]int
		DryRun  bool `json:"dry_run"`
	}
	read := func(text string) (got answer) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return got
	}
	differ := s.ruqi("diff", "-f", dir, "--set", "mine", "--prune", "-o", "json")
	got := read(differ.out)
	if differ.status != 1 || len(got.Items) != 3 || fmt.Sprint(got.Summary) != "map[changed:1 created:1 removed:1 unchanged:1]" || fmt.Sprint(got.Items[0].Changes) != "[{/task/command x y}]" || got.Items[2].Action != "removed" {
		t.Errorf("diff: exit %d, %+v", differ.status, got)
	}
	for _, dry := range []bool{true, false} {
		args := []string{"apply", "-f", dir, "--set", "mine", "--prune", "-o", "json"}
		if dry {
			args = append(args, "--dry-run")
		}
		got = read(s.ok(args...))
		if got.DryRun != dry || len(got.Items) != 4 || fmt.Sprint(got.Summary) != "map[changed:1 created:1 removed:1 unchanged:1]" || got.Items[0].File != dir+"/a.yaml:1:1" || got.Items[3].ID != "c" || !*got.Items[3].Done {
			t.Errorf("apply: %+v", got)
		}
	}
}

// between is a server in front of the service; before hears of each request, and answers it itself when it returns true.
func (s *service) between(before func(w http.ResponseWriter, r *http.Request) bool) func(args ...string) command {
	s.t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.t.Cleanup(front.Close)
	return func(args ...string) command {
		return run(s.t, map[string]string{"RUQI_SERVER": front.URL, "RUQI_TOKEN": s.token()}, "", args...)
	}
}

// isWrite tells requests that change something from those that do not.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.URL.Query().Get("dry_run") == ""
}

func TestJobsThatOthersChangeMeanwhileAreLookedAtAnew(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	dir := t.TempDir()
	files(t, dir, map[string]string{"a.yaml": hourly("a", "x"), "b.yaml": hourly("b", "x"), "gone.yaml": hourly("gone", "x"), "kept.yaml": hourly("kept", "x"), "moved.yaml": hourly("moved", "x")})
	s.ok("apply", "-f", dir, "--set", "mine")
	files(t, dir, map[string]string{"a.yaml": hourly("a", "y"), "b.yaml": hourly("b", "y"), "new.yaml": hourly("new", "y"), "gone.yaml": hourly("gone", "y"), "kept.yaml": "", "moved.yaml": ""})
	var first sync.Once // whose end all others wait for
	through := s.between(func(_ http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) {
			first.Do(func() {
				s.ok("job", "modify", "a", "--command", "z")                                   // changed
				s.ok("job", "modify", "b", "--command", "y")                                   // just as wanted
				s.ok("job", "add", "new", "--every", "1h", "--command", "z")                   // there already
				s.ok("job", "remove", "gone")                                                  // gone
				s.ok("job", "modify", "kept", "--priority", "3")                               // to be removed all the same
				s.ok("job", "modify", "moved", "--label", "ruqi.dev/set=other", "--tag", "mv") // another's now
			})
		}
		return false
	})
	got := through("apply", "-f", dir, "--set", "mine", "--prune")
	if got.status != 0 {
		t.Fatalf("exit %d: %s", got.status, got.errors)
	}
	has(t, got.out, "changed a: ", "unchanged b\n", "changed new: ", "created gone: ", "removed kept\n")
	now := s.versions()
	if now["kept"] != 0 || now["moved"] != 2 || now["a"] != 3 || now["b"] != 2 || now["new"] != 2 || now["gone"] != 1 {
		t.Errorf("the jobs are %v", now)
	}
	// One that never rests is given up.
	files(t, dir, map[string]string{"a.yaml": hourly("a", "w")})
	n := 0
	restless := s.between(func(_ http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) {
			n++
			s.ok("job", "modify", "a", "--priority", fmt.Sprint(n))
		}
		return false
	})
	if got := restless("apply", "-f", dir, "--set", "mine"); got.status != 1 || !strings.Contains(got.errors, `"a"`) || n > 20 {
		t.Errorf("after %d changes: %+v", n, got)
	}
}

func TestAFailureMidwayTellsWhatWasDone(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	dir := t.TempDir()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "%s---\n", hourly(fmt.Sprintf("job-%02d", i), "x"))
	}
	files(t, dir, map[string]string{"jobs.yaml": b.String()})
	s.ok("job", "add", "old", "--every", "1h", "--command", "x", "--label", "ruqi.dev/set=mine")
	var writes atomic.Int64
	through := s.between(func(http.ResponseWriter, *http.Request) bool { return false })
	cut := s.between(func(w http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) && writes.Add(1) > 20 {
			panic(http.ErrAbortHandler) // the connection is lost
		}
		return false
	})
	got := cut("apply", "-f", dir, "--set", "mine", "--prune")
	done := strings.Count(got.out, "created job-")
	if got.status != 5 || done != 20 || !strings.Contains(got.out, "20 created, 0 changed, 0 unchanged, 0 removed\n") || !strings.Contains(got.errors, "nobody knows whether it was created") ||
		!strings.Contains(got.errors, "not done: job-") || !strings.Contains(got.errors, "apply again") {
		t.Errorf("exit %d, %d done: %s", got.status, done, got.errors)
	}
	lost := strings.Count(got.errors, "nobody knows")
	if left := strings.Count(got.errors, "not done: "); done+lost+left != 61 || lost > 8 {
		t.Errorf("of 61 jobs %d are done, %d lost and %d not done", done, lost, left)
	}
	if now := s.versions(); len(now) != 21 || now["old"] != 1 {
		t.Errorf("%d jobs are there", len(now))
	}
	has(t, through("apply", "-f", dir, "--set", "mine", "--prune").out, "40 created, 0 changed, 20 unchanged, 1 removed\n")
	// So does a store that is away, and what is refused only now, which is no wrong input any more.
	files(t, dir, map[string]string{"jobs.yaml": hourly("job-00", "y") + "---\n" + hourly("job-01", "x")})
	answer := func(status int, problem string) func(args ...string) command {
		return s.between(func(w http.ResponseWriter, r *http.Request) bool {
			if !isWrite(r) {
				return false
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, problem)
			return true
		})
	}
	for want, through := range map[string]func(...string) command{
		`job "job-00": `: answer(http.StatusServiceUnavailable, `{"type":"urn:ruqi:unavailable","title":"Store is unavailable","status":503,"detail":"the store is away"}`),
		dir + "/jobs.yaml:3:1: task: no": answer(http.StatusUnprocessableEntity,
			`{"type":"urn:ruqi:invalid","title":"Invalid input","status":422,"detail":"x","errors":[{"pointer":"/task","message":"no"}]}`),
	} {
		if got := through("apply", "-f", dir, "--set", "mine", "--prune"); got.status != 1 || !strings.Contains(got.errors, want) || !strings.Contains(got.errors, "not done: 8 more") || strings.Contains(got.out, "removed job") {
			t.Errorf("want %s: %+v", want, got)
		}
	}
	if now := s.versions(); len(now) != 60 || now["job-00"] != 1 {
		t.Errorf("%d jobs are there", len(now))
	}
}
