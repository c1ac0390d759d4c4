package crontab_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

// stored is a definition as a service in UTC gives it back; false where it does not take it.
func stored(t testing.TB, registry *ruqi.Registry, job crontab.Job) (ruqi.Job, bool) {
	t.Helper()
	spec, err := wire.DecodeNew(registry, encode(t, job))
	if err != nil {
		return ruqi.Job{}, false
	}
	spec.Trigger = bound(t, spec.Trigger)
	return ruqi.Job{JobSpec: spec, State: ruqi.JobActive}, true
}

func bound(t testing.TB, of ruqi.Trigger) ruqi.Trigger {
	t.Helper()
	b, ok := of.(ruqi.Binder)
	if !ok {
		return of
	}
	trigger, err := b.Bind(time.UTC, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "x")
	if err != nil {
		t.Fatal(err)
	}
	return trigger
}

var openStep = regexp.MustCompile(`(^|,)([0-9]+|[a-z]{3})/`)

// essence is what a line does: when, in which zone, as whom, in which shell, what, why, and with which variables and input.
func essence(t testing.TB, registry *ruqi.Registry, job crontab.Job) string {
	t.Helper()
	back, ok := stored(t, registry, job)
	if !ok {
		t.Fatalf("%s is not taken: %s", job.ID, encode(t, job))
	}
	s := shapeOf(t, job)
	zone := wire.Zone(back.Trigger)
	delete(s.Task.Env, "CRON_TZ") // it may be said where it went without saying
	when := fmt.Sprint(back.Trigger)
	if s.Trigger.Kind == "cron" {
		when = strings.TrimPrefix(when, "0 ")
		if fields := strings.Fields(when); len(fields) == 5 {
			for i, most := range []string{"59", "23", "31", "12", "sat"} { // a/n is a-MOST/n
				fields[i] = openStep.ReplaceAllString(fields[i], "${1}${2}-"+most+"/")
			}
			when = strings.Join(fields, " ")
		}
	}
	return fmt.Sprintf("%s %s|%q|%q|%s|%s|%q|%q|%v|%v", when, zone, s.Name, s.Description, s.Task.User, s.Task.Shell, s.Task.Command, s.Task.Stdin, s.Task.Env, s.Policy)
}

// goRound writes what was read as a table and reads that. It returns what both say, without the jobs that a table cannot say.
func goRound(t testing.TB, registry *ruqi.Registry, r crontab.Result, system bool) (before, after []string, w crontab.Written) {
	t.Helper()
	var jobs []ruqi.Job
	said := map[string]string{}
	for _, job := range r.Jobs {
		if back, ok := stored(t, registry, job); ok {
			jobs = append(jobs, back)
			said[job.ID] = essence(t, registry, job)
		}
	}
	w = crontab.Write(jobs, crontab.WriteOptions{System: system, Zone: "UTC"})
	for _, refused := range w.Refused {
		delete(said, refused.ID)
	}
	for _, s := range said {
		before = append(before, s)
	}
	again := crontab.Read([]byte(w.Text), crontab.Options{System: system, Zone: "UTC"})
	for _, f := range again.Faults {
		t.Errorf("line %d is refused: %s\n%s", f.Line, f.Text, w.Text)
	}
	for _, job := range again.Jobs {
		after = append(after, essence(t, registry, job))
	}
	slices.Sort(before)
	slices.Sort(after)
	if len(again.Jobs) != w.Jobs {
		t.Errorf("%d jobs written, %d read\n%s", w.Jobs, len(again.Jobs), w.Text)
	}
	return before, after, w
}

func TestWhatWasReadIsWrittenAgain(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			r := crontab.Read(s.data, s.options)
			before, after, w := goRound(t, registry, r, s.options.System)
			if !slices.Equal(before, after) {
				t.Errorf("was\n\t%s\nis\n\t%s\n%s", strings.Join(before, "\n\t"), strings.Join(after, "\n\t"), w.Text)
			}
			unsaid := map[string]int{"freebsd": 2}[s.name] // each second, and an interval
			if len(w.Refused) != unsaid || len(before) != len(r.Jobs)-unsaid {
				t.Errorf("%d of %d jobs are written; refused are %v", len(before), len(r.Jobs), w.Refused)
			}
		})
	}
}

func TestATableOfJobs(t *testing.T) {
	job := func(id, expr string, task *command.Task) ruqi.Job {
		at, err := trigger.Cron(expr, trigger.CronOptions{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		none := time.Minute
		return ruqi.Job{State: ruqi.JobActive, JobSpec: ruqi.JobSpec{ID: id, Name: id, Trigger: at, Task: task,
			Policy: ruqi.Policy{Overlap: ruqi.OverlapAllow, MisfireGrace: &none}}}
	}
	env := func(pairs ...string) map[string]string {
		m := map[string]string{"PATH": "/usr/bin:/bin"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	described := job("c", "15/20 4 * jan mon", command.Shell("echo 100% done").WithEnv(env("A", "", "B", " b ")).WithShell("/bin/bash"))
	described.Description = "it says so\n\n\tin # two lines "
	paused := job("d", "0 5 * * *", command.Shell("sleep 1").WithEnv(env("A", "", "B", " b ", "C", "it's")))
	paused.State = ruqi.JobPaused
	tokyo := job("e", "0 9 * * *", command.Shell("cat").WithStdin("one,\n\ntwo 5%\n").WithEnv(env("A", "", "B", " b ", "C", "it's")))
	at, err := trigger.Cron("0 9 * * *", trigger.CronOptions{Zone: mustZone(t, "Asia/Tokyo")})
	if err != nil {
		t.Fatal(err)
	}
	tokyo.Trigger = at
	w := crontab.Write([]ruqi.Job{described, tokyo, paused, job("b", "*/5 * * * *", command.Shell("b").WithEnv(env())), job("a", "0 0 * * * *", command.Shell("a").WithEnv(env()))},
		crontab.WriteOptions{Zone: "UTC"})
	const want = `# Jobs of Ruqi as cron reads them; times are in UTC where no CRON_TZ stands above them.

0 * * * * a
*/5 * * * * b

A=""
B=" b "
SHELL=/bin/bash
# it says so
#
# in # two lines
15-59/20 4 * 1 mon echo 100\% done

C=it's
SHELL=/bin/sh
# paused: 0 5 * * * sleep 1

CRON_TZ=Asia/Tokyo
0 9 * * * cat%one,%%two 5\%

# Not in this table:
# d: it is paused; its line is a comment
`
	if w.Text != want || w.Jobs != 4 {
		t.Errorf("%d jobs:\n%s\nwant\n%s", w.Jobs, w.Text, want)
	}
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestADescriptionComesBackAsItWas(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	for description, left := range map[string]string{
		"one line":                        "",
		"one\n\ntwo\n\n\n- three\n  four": "blanks around its lines",
		"one\n\ntwo\n\n\n- three\nfour":   "",
		"one\n":                           "blanks around its lines",
		"one\ttab":                        "cannot be printed",
		"0 5 * * * not a line":            "would not be taken for one",
		"above\n\n0 5 * * * echo\n":       "would not be taken for one",
	} {
		r := crontab.Read([]byte("0 5 * * * echo x\n"), crontab.Options{})
		job, ok := stored(t, registry, r.Jobs[0])
		if !ok {
			t.Fatal("the line is not taken")
		}
		job.Description = description
		w := crontab.Write([]ruqi.Job{job}, crontab.WriteOptions{Zone: "UTC"})
		said := ""
		for _, l := range w.Left {
			if strings.Contains(l.Why, "description") {
				said = l.Why
			}
		}
		if left == "" && said != "" || !strings.Contains(said, left) {
			t.Errorf("%q: left out is %q, want %q", description, said, left)
		}
		again := crontab.Read([]byte(w.Text), crontab.Options{})
		if len(again.Jobs) != 1 {
			t.Fatalf("%q: %v\n%s", description, again.Faults, w.Text)
		}
		if back := again.Jobs[0].Definition["description"]; left == "" && back != description {
			t.Errorf("%q comes back as %q from\n%s", description, back, w.Text)
		}
	}
}

func TestJobsThatNoTableCanSay(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	read := func(definition string) ruqi.Job {
		spec, err := wire.DecodeNew(registry, []byte(definition))
		if err != nil {
			t.Fatalf("%s: %v", definition, err)
		}
		spec.Trigger = bound(t, spec.Trigger)
		return ruqi.Job{JobSpec: spec, State: ruqi.JobActive}
	}
	const form = `{"id":"x","trigger":%s,"task":%s,"policy":%s}`
	const daily, echo, plain = `{"kind":"cron","expr":"0 5 * * *"}`, `{"kind":"command","command":"echo"}`, `{"overlap":"allow","misfire_grace":"1m"}`
	for definition, want := range map[string]string{
		fmt.Sprintf(form, `{"kind":"interval","every":"1h"}`, echo, plain):                                 "no intervals",
		fmt.Sprintf(form, `{"kind":"date","at":"2126-12-01T00:00:00Z"}`, echo, plain):                      `kind "date"`,
		fmt.Sprintf(form, `{"kind":"cron","expr":"0 0 5 * * mon","dialect":"ruqi"}`, echo, plain):          "dialect ruqi",
		fmt.Sprintf(form, `{"kind":"cron","expr":"*/5 * * * * *"}`, echo, plain):                           "no seconds",
		fmt.Sprintf(form, `{"kind":"cron","expr":"0 5 L * *"}`, echo, plain):                               `does not know "L"`,
		fmt.Sprintf(form, `{"kind":"cron","expr":"0 5 * * mon#1"}`, echo, plain):                           `does not know "mon#1"`,
		fmt.Sprintf(form, `{"kind":"cron","expr":"0 5 * * *","gap":"skip"}`, echo, plain):                  "clock changes",
		fmt.Sprintf(form, `{"kind":"cron","expr":"0 5 * * *","end":"2126-12-01T00:00:00Z"}`, echo, plain):  "an end",
		fmt.Sprintf(form, daily, `{"kind":"command","argv":["echo"]}`, plain):                              "texts for a shell",
		fmt.Sprintf(form, daily, `{"kind":"webhook","url":"https://example.com"}`, plain):                  "texts for a shell",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a\nb"}`, plain):                             "several lines",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a\\%b"}`, plain):                            "backslash before a %",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a\\","stdin":"b\n"}`, plain):                "ends in a backslash",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","stdin":"b"}`, plain):                    "does not end in a newline",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","stdin":"b\\\nc\n"}`, plain):             "at the end of a line",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","dir":"/srv"}`, plain):                   "it starts in /srv",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"LOGNAME":"x"}}`, plain):          "LOGNAME",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"X":"a\nb"}}`, plain):             "variable X",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"X":"'\""}}`, plain):              "variable X",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"SHELL":"/bin/ash"}}`, plain):     "SHELL",
		fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"CRON_TZ":"Asia/Tokyo"}}`, plain): "CRON_TZ",
		fmt.Sprintf(form, daily, echo, `{"max_runs":3}`):                                                   "max_runs",
		fmt.Sprintf(form, daily, echo, plain):                                                              "", // but not in a system table
	} {
		job := read(definition)
		w := crontab.Write([]ruqi.Job{job}, crontab.WriteOptions{Zone: "UTC"})
		switch {
		case want == "" && (len(w.Refused) > 0 || w.Jobs != 1):
			t.Errorf("%s: refused, %v", definition, w.Refused)
		case want != "" && (len(w.Refused) != 1 || w.Jobs != 0 || !strings.Contains(w.Refused[0].Why, want) || !strings.Contains(w.Text, "# x: ")):
			t.Errorf("%s: %v, want %q\n%s", definition, w.Refused, want, w.Text)
		}
		if w := crontab.Write([]ruqi.Job{job}, crontab.WriteOptions{Zone: "UTC", System: true}); len(w.Refused) != 1 {
			t.Errorf("%s: without a user it is in a system table:\n%s", definition, w.Text)
		}
		job.State = ruqi.JobFinished
		if w := crontab.Write([]ruqi.Job{job}, crontab.WriteOptions{Zone: "UTC"}); len(w.Refused) != 1 {
			t.Errorf("%s: finished, and written:\n%s", definition, w.Text)
		}
	}
	left := read(fmt.Sprintf(form, daily, `{"kind":"command","command":"a"}`, `{"timeout":"1m","retry":{"max":1},"jitter":"5s","overlap":"skip"}`))
	left.Params = []byte(`{"a":1}`)
	w := crontab.Write([]ruqi.Job{left}, crontab.WriteOptions{Zone: "UTC"})
	var got []string
	for _, l := range w.Left {
		got = append(got, l.Why)
	}
	if w.Jobs != 1 || len(got) != 7 {
		t.Errorf("left out is said to be %q", got)
	}
	one, other := read(fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"X":"1"}}`, plain)), read(fmt.Sprintf(form, daily, `{"kind":"command","command":"a","env":{"Y":"1"}}`, plain))
	other.ID = "y\x1b"
	w = crontab.Write([]ruqi.Job{one, other}, crontab.WriteOptions{Zone: "UTC"})
	if w.Jobs != 1 || len(w.Refused) != 1 || !strings.Contains(w.Refused[0].Why, "variable X") || strings.Contains(w.Text, "\x1b") {
		t.Errorf("two sets of variables: %v\n%q", w.Refused, w.Text)
	}
}

func TestUsersInTables(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	r := crontab.Read([]byte("@daily root a\n"), crontab.Options{System: true})
	job, ok := stored(t, registry, r.Jobs[0])
	if !ok {
		t.Fatal("a task with a user is not taken")
	}
	for _, c := range []struct {
		o    crontab.WriteOptions
		want string
	}{
		{crontab.WriteOptions{System: true}, "0 0 * * * root a"},
		{crontab.WriteOptions{User: "root"}, "0 0 * * * a"},
		{crontab.WriteOptions{}, "--user root"},
		{crontab.WriteOptions{User: "bob"}, "runs as root"},
	} {
		c.o.Zone = "UTC"
		if w := crontab.Write([]ruqi.Job{job}, c.o); !strings.Contains(w.Text, c.want) {
			t.Errorf("%+v: no %q in\n%s", c.o, c.want, w.Text)
		}
	}
}
