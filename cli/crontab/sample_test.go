package crontab_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/standard"
)

var update = flag.Bool("update", false, "write what is read into testdata/want; look at the difference before it is kept")

// A sample is a table in testdata.
type sample struct {
	name, path string
	data       []byte
	options    crontab.Options
}

// samples are the tables in testdata: those of users, and those whose lines name their user.
func samples(t testing.TB) []sample {
	t.Helper()
	var all []sample
	for pattern, system := range map[string]bool{"*.crontab": false, "user/*.crontab": false, "cron.d/*": true, "etc/*": true} {
		paths, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			base := filepath.Base(path)
			if strings.HasPrefix(base, ".") || base == "README.dist" {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(base, ".crontab")
			all = append(all, sample{name, path, data, crontab.Options{Source: name, System: system || name == "03-system"}})
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return strings.Compare(a.path, b.path) })
	return all
}

// A shape is a definition as its JSON has it.
type shape struct {
	ID, Name, Description string
	Trigger               struct{ Kind, Expr, Dialect, Zone, Every string }
	Task                  struct {
		Kind, Command, Shell, Dir, Stdin, User string
		Env                                    map[string]string
	}
	Policy map[string]any
	Tags   []string
	Labels map[string]string
}

func encode(t testing.TB, job crontab.Job) []byte {
	t.Helper()
	text, err := json.Marshal(job.Definition)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func shapeOf(t testing.TB, job crontab.Job) shape {
	t.Helper()
	var s shape
	if err := json.Unmarshal(encode(t, job), &s); err != nil {
		t.Fatal(err)
	}
	if s.Task.Shell == "" {
		s.Task.Shell = "/bin/sh"
	}
	return s
}

// tell writes what was read of a table, for people to compare with the table itself.
func tell(t *testing.T, r crontab.Result) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs, %d variables, %d comments, %d blank lines, %d faults\n", len(r.Jobs), r.Variables, r.Comments, r.Blanks, len(r.Faults))
	say := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "    %-12s%s\n", name, strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", 16)))
		}
	}
	for _, job := range r.Jobs {
		s := shapeOf(t, job)
		fmt.Fprintf(&b, "%d: %s\n", job.Line, s.ID)
		if s.Name != s.Task.Command && s.Name != s.Description {
			say("name", s.Name)
		}
		say("description", s.Description)
		say("when", strings.TrimSpace(s.Trigger.Expr+s.Trigger.Every+" "+s.Trigger.Zone))
		say("user", s.Task.User)
		say("shell", s.Task.Shell)
		say("dir", s.Task.Dir)
		say("command", strings.ReplaceAll(s.Task.Command, "\t", "<tab>")+"|")
		if s.Task.Stdin != "" {
			say("stdin", fmt.Sprintf("%q", s.Task.Stdin))
		}
		for _, name := range slices.Sorted(maps.Keys(s.Task.Env)) {
			say("env", name+"="+s.Task.Env[name]+"|")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Policy)) {
			switch name + "=" + fmt.Sprint(s.Policy[name]) {
			case "overlap=allow", "coalesce=true", "misfire_grace=1m": // as in cron; all have them
			default:
				say("policy", fmt.Sprintf("%s %v", name, s.Policy[name]))
			}
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note %d: %s\n", n.Line, n.Text)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault %d: %s\n", f.Line, f.Text)
	}
	return b.String()
}

// RC01, RC02, RC03, RC04, RC10, RC11, CM01, CM03, CM05, CM09: tables in the forms that are in use.
func TestTablesInUse(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			r := crontab.Read(s.data, s.options)
			got := tell(t, r)
			path := filepath.Join("testdata", "want", s.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("read\n%s\nwant\n%s", got, want)
			}
			for _, job := range r.Jobs {
				s := shapeOf(t, job)
				if s.Policy["overlap"] != "allow" || s.Policy["coalesce"] != true || s.Policy["misfire_grace"] != "1m" || !slices.Equal(s.Tags, []string{"crontab"}) {
					t.Errorf("%s does not do as cron does: %v, %v", s.ID, s.Policy, s.Tags)
				}
			}
		})
	}
}

// The times that the samples were looked at for, after 1 December 2026 in UTC.
func TestFirstTimesOfTables(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	own := "" // whose jobs they are does not matter here
	for _, c := range []struct {
		file  string
		line  int
		times string
	}{
		{"01-plain", 8, "2026-12-01T17:00:00Z"},
		{"01-plain", 12, "2026-12-01T03:00:00Z"},
		{"01-plain", 13, "2026-12-01T03:00:00Z"},
		{"01-plain", 14, "2026-12-01T03:00:00Z"},
		{"02-bash", 7, "2026-12-01T06:15:00Z"},
		{"03-system", 4, "2026-12-07T03:46:00Z"},
		{"09-env-order", 9, "2026-12-02T00:00:00Z"},
		{"09-env-order", 11, "2026-12-01T01:30:00Z"},
	} {
		for _, s := range samples(t) {
			if s.name != c.file {
				continue
			}
			s.options.User, s.options.Zone = &own, "UTC"
			for _, job := range crontab.Read(s.data, s.options).Jobs {
				if job.Line != c.line {
					continue
				}
				back, ok := stored(t, registry, job)
				if !ok {
					t.Fatalf("%s is not taken", job.ID)
				}
				if next, ok := back.Trigger.Next(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)); !ok || next.UTC().Format(time.RFC3339) != c.times {
					t.Errorf("%s:%d: first at %s, want %s", c.file, c.line, next, c.times)
				}
			}
		}
	}
}
