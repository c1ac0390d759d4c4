//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file of a test, and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const bavaria = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:test\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\nDTSTART;VALUE=DATE:20270106\r\n" +
	"RRULE:FREQ=YEARLY\r\nSUMMARY:Epiphany\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

func TestCalendarsAreWrittenFromFilesAndUsed(t *testing.T) {
	s := serve(t, t.TempDir())
	s.fails(3, "holidays", "calendar", "get", "holidays")
	yaml := write(t, "holidays.yaml", "# ours\nyearly: [--12-25/--12-26]  # both\ndates: [2027-03-26]\n")
	if out := s.ok("calendar", "put", "holidays", yaml); out != "created holidays: version 1\n" {
		t.Errorf("put says %q", out)
	}
	if out := s.ok("calendar", "get", "holidays"); strings.Join(strings.Fields(out), "") != `{"dates":["2027-03-26"],"yearly":["--12-25","--12-26"]}` {
		t.Errorf("get shows %s", out)
	}
	s.fails(1, "already exists", "calendar", "put", "--new", "holidays", yaml)
	s.fails(1, "version", "calendar", "put", "--if-version", "9", "holidays", yaml)
	s.fails(2, "do not go together", "calendar", "put", "--if-version", "1", "--new", "holidays", yaml)
	again := write(t, "again.json", s.ok("calendar", "get", "holidays"))
	if out := s.ok("calendar", "put", "--if-version", "1", "holidays", again); out != "unchanged holidays: version 1\n" {
		t.Errorf("putting what is there says %q", out)
	}
	s.ok("calendar", "put", "bavaria", write(t, "bavaria.ics", bavaria))
	s.ok("calendar", "put", "cn",
		write(t, "2026.json", `{"year":2026,"days":[{"name":"元旦","date":"2026-01-01","isOffDay":true},{"name":"元旦","date":"2026-01-04","isOffDay":false}]}`),
		write(t, "2027.json", `{"year":2027,"days":[{"name":"元旦","date":"2027-01-01","isOffDay":true}]}`))
	if out := s.ok("calendar", "get", "cn"); !strings.Contains(out, "2026-01-04") || !strings.Contains(out, "2027-01-01") {
		t.Errorf("the years are %s", out)
	}
	if out := s.ok("calendar", "list"); len(strings.Split(out, "\n")) != 5 || !strings.Contains(out, "\nbavaria ") || !strings.Contains(out, "\ncn ") || !strings.Contains(out, "\nholidays ") {
		t.Errorf("listed are\n%s", out)
	}
	job := `{"id":"work","trigger":{"kind":"except","of":{"kind":"cron","expr":"0 9 24,25,26 12 *","zone":"Europe/Berlin"},"not":[{"calendar":"holidays"}]},"task":{"kind":"command","command":"true"}}`
	if out := s.ok("job", "add", "--file", write(t, "job.json", job)); !strings.Contains(out, "-12-24 09:00:00 +01:00") {
		t.Errorf("adding says %q", out)
	}
	if out := s.ok("job", "get", "work", "-o", "json"); !strings.Contains(out, `"calendar": "holidays"`) || !strings.Contains(out, `"version": 1`) {
		t.Errorf("the job is %s", out)
	}
	if out := s.ok("job", "get", "work"); !strings.Contains(out, "calendar \"holidays\" (25 December to 26 December of every year and 2027-03-26)") {
		t.Errorf("the job does not tell its days as the service knows them:\n%s", out)
	}
	if out := s.ok("diff", write(t, "again.json", job)); strings.Contains(out, "trigger") {
		t.Errorf("the same job differs: %s", out)
	}
	s.fails(1, `used by the jobs "work"`, "calendar", "remove", "holidays")
	s.ok("calendar", "put", "holidays", write(t, "none.yaml", "yearly: [--12-24]\n"))
	s.eventually("the job follows its calendar", func() bool {
		return strings.Contains(s.ok("job", "get", "work"), "-12-25 09:00:00 +01:00")
	})
	if out := s.ok("calendar", "rm", "bavaria", "cn"); out != "removed bavaria\nremoved cn\n" {
		t.Errorf("remove says %q", out)
	}
}

func TestWrongFilesOfCalendarsAreTold(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.yaml", "dates: [2026-02-30]\n", "a.yaml: dates.0: "},
		{"a.yml", "moons: []\n", "a.yml: moons: unknown"},
		{"a.json", `{"dates":["2026-01-01"`, "a.json: "},
		{"a.yaml", "dates: [\n", "a.yaml: "},
		{"a.ics", "BEGIN:VCALENDAR\r\n", "a.ics: "},
		{"b.ics", "VERSION:2.0\r\nPRODID:x\r\n", "b.ics: not an iCalendar file: it does not begin with BEGIN:VCALENDAR\n"},
		{"c.ICS", "hello", "c.ICS: not an iCalendar file: it does not begin with BEGIN:VCALENDAR\n"},
		{"d.ics", "", "d.ics: not an iCalendar file: it does not begin with BEGIN:VCALENDAR\n"},
		{"days", "VERSION:2.0\r\nPRODID:x\r\n", "days: not an iCalendar file: it does not begin with BEGIN:VCALENDAR; nor is it JSON"},
	} {
		path := write(t, c.name, c.text)
		got := run(t, nil, "", "calendar", "put", "x", path)
		if got.status != 2 || !strings.Contains(got.errors, c.want) || got.out != "" {
			t.Errorf("%s: %+v, want %q", c.text, got, c.want)
		}
	}
	two := run(t, nil, "", "calendar", "put", "x", write(t, "a.ics", bavaria), write(t, "b.ics", bavaria))
	if two.status != 2 || !strings.Contains(two.errors, "several files") {
		t.Errorf("two calendars at once: %+v", two)
	}
	for _, args := range [][]string{{"calendar", "put", "x"}, {"calendar", "put"}, {"calendar", "remove"}, {"calendar", "get"}, {"calendar", "put", "", "x"}} {
		if got := run(t, nil, "", args...); got.status != 2 || got.errors == "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
