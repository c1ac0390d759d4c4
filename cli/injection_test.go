//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// What stands in ids, names, params, environments and folders is text, and no shell reads it.
func TestNoFieldOfAJobIsReadByAShell(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, t.TempDir(), "--store", "memory:", "--log-level", "debug")
	const evil = "a'\"; touch pwned; $(touch pwned) `touch pwned` | & > pwned * ~ \\ ${HOME} %s !1 #"
	folder := filepath.Join(dir, "b'\";$(touch pwned)`touch pwned`")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	definition := func(task string) string {
		return fmt.Sprintf(`{"id":%[1]s,"name":%[1]s,"description":%[1]s,"tags":[%[1]s],"labels":{%[1]s:%[1]s},"params":{"p":%[1]s,%[1]s:"x"},"trigger":{"kind":"interval","every":"1h"},"task":%[2]s}`, text(evil), task)
	}
	// With a umask and limits there is a wrapper between, which is a shell.
	for _, more := range []string{``, `,"umask":"077","nice":1,"limits":{"open_files":100}`, `,"login":true`} {
		for _, program := range []string{
			`"argv":["printf","%s\n",` + text(evil) + `]`,
			`"command":"printf '%s\\n' \"$V\"","env":{"V":` + text(evil) + `}`,
			`"command":"printf '%s\\n' \"$RUQI_PARAM_P\""`,
			`"command":"printf '%s\\n' \"$RUQI_JOB_ID\""`,
			`"command":"cat","stdin":` + text(evil+"\n"),
		} {
			task := `{"kind":"command",` + program + `,"dir":` + text(folder) + more + `}`
			if status, answer := s.post(definition(task)); status != 201 {
				t.Fatalf("%s: %d: %s", task, status, answer)
			}
			if state, said := s.said(evil); state != "succeeded" || said != evil+"\n" {
				t.Errorf("%s: it is %s and says %q", task, state, said)
			}
			s.ok("job", "remove", evil)
		}
	}
	// A rule is read by nobody but its trigger.
	for _, kind := range []string{`"cron","expr":`, `"cron","dialect":"ruqi","expr":`, `"cron","expr":"0 0 * * *","zone":`, `"interval","every":`, `"date","at":`} {
		for _, rule := range []string{evil, "$(touch pwned)", "`touch pwned`", "* * * * * touch pwned", "0 0 * * $(touch pwned)", "@daily;touch pwned", "../../etc/passwd"} {
			if status, answer := s.post(`{"trigger":{"kind":` + kind + text(rule) + `},"task":{"kind":"command","command":"true"}}`); status != 422 || !strings.Contains(answer, `"/trigger`) {
				t.Errorf("the rule %s %q: %d: %s", kind, rule, status, answer)
			}
		}
	}
	for _, place := range []string{dir, folder, s.dir, ".", os.Getenv("HOME")} {
		if _, err := os.Stat(filepath.Join(place, "pwned")); err == nil {
			t.Errorf("a shell has read it: there is %s/pwned", place)
		}
	}
	for _, name := range []string{"root; id", "$(id)", "../../etc", "a:b", "-u", "root\n"} {
		if status, answer := s.post(fmt.Sprintf(`{"trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"id","user":%s}}`, text(name))); status != 422 || !strings.Contains(answer, "/task/user") {
			t.Errorf("the user %q: %d: %s", name, status, answer)
		}
	}
}

// What users write makes no line of the log and no header: ids with control characters are refused, and what may hold
// them is never on a line of its own.
func TestWhatUsersWriteBreaksNoLineOfTheLog(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--log-level", "debug")
	const forged = "time=2026-01-01T00:00:00Z level=ERROR msg=forged"
	for _, char := range []string{`\n`, `\r`, `\u0000`, `\u001b`, `\u2028`, `\u0085`} {
		for _, member := range []string{`"id":"a` + char + `b"`, `"name":"a` + char + `b"`, `"tags":["a` + char + `b"]`, `"executor":"a` + char + `b"`} {
			status, answer := s.post(`{` + member + `,"trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"true"}}`)
			if status != 422 {
				t.Errorf("%s: %d: %s", member, status, answer)
			}
		}
	}
	if status, answer := s.post(`{"id":"nul","params":{"p":"a\u0000b"},"trigger":{"kind":"interval","every":"1h"},"task":{"kind":"command","command":"true"}}`); status != 422 {
		t.Errorf("a NUL in params: %d: %s", status, answer)
	}
	params := `{"p":"a\n` + forged + `\nSet-Cookie: x=1\r\n\r\n"}`
	task := `{"kind":"command","command":"printf '%s' \"$RUQI_PARAM_P\"; exit 3","env":{"E":"a\n` + forged + `"},"dir":"/","stdin":"\n` + forged + `\n"}`
	if status, answer := s.post(`{"id":"x","params":` + params + `,"trigger":{"kind":"interval","every":"1h"},"task":` + task + `}`); status != 201 {
		t.Fatalf("%d: %s", status, answer)
	}
	if state, said := s.said("x"); state != "failed" || said != "a\n"+forged+"\nSet-Cookie: x=1\r\n\r\n" {
		t.Errorf("it is %s and says %q", state, said)
	}
	// Ways out of the data directory, and headers, by what stands in an address.
	for _, path := range []string{"/api/v1/jobs/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/jobs/x%0a" + strings.ReplaceAll(forged, " ", "%20"), "/api/v1/runs/..%2f1/output", "/api/v1/runs/1%00/output", "/api/v1/runs/1%0d%0aX-Y:%20z/output"} {
		if status := s.get(path, s.token()); status < 400 || status >= 500 {
			t.Errorf("%s: %d", path, status)
		}
	}
	s.signal(syscall.SIGTERM)
	s.wait()
	begins := regexp.MustCompile(`^(time=|admin token made: )`)
	lines := 0
	for line := range strings.Lines(s.log.String()) {
		lines++
		if !begins.MatchString(line) || strings.HasPrefix(line, forged) {
			t.Errorf("a line of the log that nobody but a user wrote: %q", line)
		}
	}
	if lines < 10 {
		t.Errorf("the log has %d lines: this test looks at nothing", lines)
	}
}
