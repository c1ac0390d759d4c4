//go:build unix

package cli_test

import (
	"strings"
	"testing"
)

// nobody is an address at which no service answers.
const nobody = "http://127.0.0.1:1"

const workdays = `{"kind":"except","of":{"kind":"cron","expr":"0 9 24,25,28 12 *","zone":"Europe/Berlin"},"not":[{"calendar":"holidays"}]}`

func TestATriggerThatNamesACalendarIsAskedOfTheService(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("calendar", "put", "holidays", write(t, "days.yaml", "yearly: [--12-25]\n"))
	if got := s.ok("next", "--from", "2026-12-01", "-n", "2", workdays); got != "2026-12-24T09:00:00+01:00\n2026-12-28T09:00:00+01:00\n" {
		t.Errorf("next says %q", got)
	}
	if got := s.ok("describe", workdays); !strings.Contains(got, `calendar "holidays" (25 December of every year)`) {
		t.Errorf("describe says %q", got)
	}
	if got := s.ok("explain", workdays, "2026-12-25 09:00"); !strings.Contains(got, `  not/0: 2026-12-25, a Friday, is left out: it is among the days of calendar "holidays"`) {
		t.Errorf("explain says %q", got)
	}
	s.fails(2, `there is no calendar "moon"`, "next", strings.Replace(workdays, "holidays", "moon", 1))
	own := write(t, "own.ics", bavaria)
	s.fails(2, `the trigger names no calendar "holidays"; it names moon`, "next", "--calendar", "holidays="+own, strings.Replace(workdays, "holidays", "moon", 1))
	s.ok("job", "add", "named", "--trigger", workdays, "--command", "true")
	s.fails(2, `the trigger names no calendar "holidais"; it names holidays`, "next", "--job", "named", "--calendar", "holidais="+own)
	file := s.ok("describe", "--calendar", "holidays="+own, workdays)
	if file == s.ok("describe", workdays) || !strings.Contains(file, `calendar "holidays" (`) {
		t.Errorf("with a file: %q", file)
	}
	away := func(args ...string) command { return run(t, map[string]string{"RUQI_SERVER": nobody}, "", args...) }
	if got := away("describe", "--calendar", "holidays="+own, workdays); got.status != 0 || got.out != file || got.errors != "" {
		t.Errorf("a file needs no service: %+v", got)
	}
	for _, args := range [][]string{{"next", workdays}, {"describe", workdays}, {"explain", workdays, "2026-12-25 09:00"}} {
		got := away(args...)
		if got.status != 5 || got.out != "" || strings.Count(got.errors, "\n") != 1 || !strings.Contains(got.errors, `the calendar "holidays", and no service answers at `+nobody) ||
			!strings.Contains(got.errors, "--calendar holidays=FILE") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := away("next", "--from", "2026-12-01", "-n", "1", "--tz", "UTC", `{"kind":"any","of":[{"kind":"cron","expr":"0 9 * * *"}]}`); got.status != 0 {
		t.Errorf("without a calendar no service is needed: %+v", got)
	}
	for names, trigger := range map[string]string{"it names holidays": workdays, "it names none": "0 9 * * *"} {
		for _, args := range [][]string{{"next"}, {"describe"}, {"explain"}} {
			args = append(args, "--calendar", "holidais="+own, trigger)
			if args[0] == "explain" {
				args = append(args, "2026-12-25 09:00")
			}
			want := `--calendar: the trigger names no calendar "holidais"; ` + names
			if got := away(args...); got.status != 2 || got.out != "" || !strings.Contains(got.errors, want) || strings.Count(got.errors, "\n") != 1 {
				t.Errorf("%q: %+v, want %s", args, got, want)
			}
		}
	}
	for _, text := range []string{"holidays", "=x", "holidays="} {
		if got := away("next", "--calendar", text, workdays); got.status != 2 || !strings.Contains(got.errors, "--calendar: ") {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := away("next", "--calendar", "holidays="+write(t, "bad.yaml", "dates: [2026-02-30]\n"), workdays); got.status != 2 || !strings.Contains(got.errors, "bad.yaml: dates.0: ") {
		t.Errorf("a wrong file: %+v", got)
	}
}

func TestTheTriggerOfAJobIsAskedOfTheService(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "report", "--cron", "30 2 * * mon-fri", "--tz", "Asia/Tokyo", "--command", "true")
	s.ok("job", "add", "often", "--every", "90m", "--start", "2030-01-01T00:00:00Z", "--tz", "UTC", "--command", "true")
	if got := s.ok("next", "--job", "report", "--from", "2026-11-30 02:30", "-n", "1"); got != "2026-12-01T02:30:00+09:00\n" {
		t.Errorf("a time is read in the job's zone: %q", got)
	}
	if got := s.ok("next", "--job", "often", "-n", "2"); got != "2030-01-01T00:00:00Z\n2030-01-01T01:30:00Z\n" {
		t.Errorf("an interval goes from its own start: %q", got)
	}
	if got := s.ok("describe", "--job", "report", "--lang", "zh"); got != "在每周一至周五的 02:30，Asia/Tokyo 时间\n" {
		t.Errorf("describe says %q", got)
	}
	if got := s.ok("explain", "--job", "report", "2026-11-29 02:30"); !strings.HasPrefix(got, "2026-11-29T02:30:00+09:00 does not fire:\n  day_of_week: ") {
		t.Errorf("explain says %q", got)
	}
	s.ok("calendar", "put", "holidays", write(t, "days.yaml", "yearly: [--12-25]\n"))
	s.ok("job", "add", "--file", write(t, "job.json", `{"id":"work","trigger":`+workdays+`,"task":{"kind":"command","command":"true"}}`))
	if got := s.ok("next", "--job", "work", "--from", "2026-12-24 09:00", "-n", "1"); got != "2026-12-28T09:00:00+01:00\n" {
		t.Errorf("the calendar of a job is not asked for: %q", got)
	}
	s.ok("job", "pause", "report")
	if got := s.ruqi("next", "--job", "report", "-n", "1"); got.status != 0 || got.out == "" || !strings.Contains(got.errors, "report is paused") {
		t.Errorf("a paused job: %+v", got)
	}
	s.fails(3, "nope", "next", "--job", "nope")
	s.fails(2, "--tz: ", "next", "--job", "report", "--tz", "UTC")
	s.fails(2, "--start: ", "describe", "--job", "report", "--start", "2026-01-01", "--dialect", "quartz")
	s.fails(2, "the trigger is the job's", "next", "--job", "report", "0 9 * * *")
	s.fails(2, "a time", "explain", "--job", "report")
	if got := run(t, map[string]string{"RUQI_SERVER": nobody}, "", "next", "--job", "report"); got.status != 5 || got.out != "" {
		t.Errorf("without a service: %+v", got)
	}
}

func TestExplainTellsOfTimesThatAreLeftOut(t *testing.T) {
	const gap = "2026-03-29 02:30:00 does not exist in Europe/Berlin: on that day the clock goes from 02:00:00 to 03:00:00"
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"30 2 * * *"}, []string{gap, "  gap: it asks for that time, and fires at the first instant after the gap: 2026-03-29T03:00:00+02:00",
			"before: 2026-03-28T02:30:00+01:00", "after:  2026-03-29T03:00:00+02:00"}},
		{[]string{"--gap", "shift", "30 2 * * *"}, []string{gap, "  gap: it asks for that time, and fires as much later as the clock is set forward: 2026-03-29T03:30:00+02:00",
			"before: 2026-03-28T02:30:00+01:00", "after:  2026-03-29T03:30:00+02:00"}},
		{[]string{"--gap", "skip", "30 2 * * *"}, []string{gap, "  gap: it asks for that time, and passes it over", "before: 2026-03-28T02:30:00+01:00", "after:  2026-03-30T02:30:00+02:00"}},
		{[]string{"*/30 2 * * *"}, []string{gap, "  gap: it asks for that time, and passes it over", "before: 2026-03-28T02:30:00+01:00", "after:  2026-03-30T02:00:00+02:00"}},
		{[]string{"0 9 * * *"}, []string{gap, "  gap: it does not ask for that time", "before: 2026-03-28T09:00:00+01:00", "after:  2026-03-29T09:00:00+02:00"}},
		{[]string{"--trigger", "every", "day at 02:30"}, []string{gap, "  gap: it asks for that time, and fires at the first instant after the gap: 2026-03-29T03:00:00+02:00",
			"before: 2026-03-28T02:30:00+01:00", "after:  2026-03-29T03:00:00+02:00"}},
		{[]string{`{"kind":"except","of":{"kind":"cron","expr":"30 2 * * *"},"not":[{"days":{"weekdays":["sun"]}}]}`},
			[]string{gap, "  gap: it does not ask for that time", "before: 2026-03-28T02:30:00+01:00", "after:  2026-03-30T02:30:00+02:00"}},
		{[]string{"--lang", "zh", "30 2 * * *"}, []string{"2026-03-29 02:30:00 在 Europe/Berlin 不存在：当天时钟从 02:00:00 拨到 03:00:00",
			"  gap: 它要求这个时间，改在间隙后的第一个时刻触发：2026-03-29T03:00:00+02:00", "之前：2026-03-28T02:30:00+01:00", "之后：2026-03-29T03:00:00+02:00"}},
	} {
		got := run(t, nil, "", append(append([]string{"explain", "--tz", "Europe/Berlin", "--from", "2026-03-01"}, c.args...), "2026-03-29 02:30")...)
		if got.status != 0 || got.out != strings.Join(c.want, "\n")+"\n" || got.errors != "" {
			t.Errorf("%q: exit %d, %s%s", c.args, got.status, got.out, got.errors)
		}
	}
	samoa := run(t, nil, "", "explain", "--tz", "Pacific/Apia", "0 9 * * *", "2011-12-30 09:00")
	if samoa.status != 0 || !strings.HasPrefix(samoa.out, "2011-12-30 09:00:00 does not exist in Pacific/Apia: on that day the clock goes from 2011-12-30 00:00:00 to 2011-12-31 00:00:00\n"+
		"  gap: it asks for that time, and passes it over: so long a jump is a correction of the clock\n") {
		t.Errorf("a day left out: %+v", samoa)
	}
	shape := run(t, nil, "", "explain", "-o", "json", "--tz", "Europe/Berlin", "30 2 * * *", "2026-03-29 02:30")
	for _, part := range []string{`"at": "2026-03-29T02:30:00"`, `"fires": false`, `"part": "gap"`, `"message_zh": "2026-03-29 02:30:00 在`, `"after": "2026-03-29T03:00:00+02:00"`} {
		if !strings.Contains(shape.out, part) {
			t.Errorf("%s is missing in %s", part, shape.out)
		}
	}
}

// What fires at an end of a gap by itself makes nothing good by that.
func TestExplainTellsWhatBecomesOfATimeThatIsLeftOut(t *testing.T) {
	const (
		no      = "it does not ask for that time"
		over    = "it asks for that time, and passes it over"
		after   = "it asks for that time, and fires at the first instant after the gap: 2026-03-29T03:00:00+02:00"
		shifted = "it asks for that time, and fires as much later as the clock is set forward: 2026-03-29T03:30:00+02:00"
	)
	cron := func(expr, more string) string { return `{"kind":"cron","expr":"` + expr + `"` + more + `}` }
	skip, shift, tokyo := `,"gap":"skip"`, `,"gap":"shift"`, `,"zone":"Asia/Tokyo"`
	of := func(kind string, parts ...string) string {
		return `{"kind":"` + kind + `","of":[` + strings.Join(parts, ",") + `]}`
	}
	moved := func(kind, days, day, to, expr, more string) string {
		return `{"kind":"` + kind + `","of":` + cron(expr, more) + `,"` + days + `":[{"days":{"weekdays":["` + day + `"]}}],"else":"` + to + `"}`
	}
	for _, c := range []struct {
		args string // apart by |; the time is the last
		want string
	}{
		{"*/30 * * * *|02:30", over}, {"*/30 * * * *|02:00", over}, {"* 2,3 * * *|02:30", over}, {"30 * * * *|02:30", over}, {"--gap|shift|30 * * * *|02:30", over},
		{"--gap|shift|*/30 * * * *|02:30", over}, {"--gap|skip|*/30 * * * *|02:30", over},
		{"--gap|skip|0 2,3 * * *|02:00", over}, {"--gap|skip|30 2,3 * * *|02:30", over}, {"--gap|skip|0,30 2,3 * * *|02:30", over},
		{"0 2,3 * * *|02:00", after}, {"30 2,3 * * *|02:30", after}, {"--gap|run_after|0,30 2,3 * * *|02:30", after},
		{"--gap|shift|30 2,3 * * *|02:30", shifted}, {"--gap|shift|0,30 2,3 * * *|02:30", shifted}, {"--gap|shift|0 3 * * *|02:30", no}, {"0 3 * * *|02:00", no},
		{"--gap|shift|0 2 * * *|02:30", no}, {"--end|2026-03-28|30 2,3 * * *|02:30", over},
		{"--trigger|every|hour at :30|02:30", over}, {"--trigger|every|minute at :00|02:30", over},
		{"--trigger|every|day at 02:30 and 03:00|02:30", after}, {"--trigger|every|--gap|skip|day at 02:30 and 03:00|02:30", over},
		{"--trigger|every|--gap|shift|day at 02:30 and 03:30|02:30", shifted}, {"--trigger|every|90 minutes|02:30", no},
		{"--trigger|calendar|days=1 hour=2 minute=30|02:30", after}, {"--trigger|calendar|--gap|skip|days=1 hour=2 minute=30|02:30", over},
		{"--trigger|calendar|--gap|shift|days=1 hour=2 minute=30|02:30", shifted},
		{of("any", cron("30 2 * * *", skip), cron("0 3 * * *", "")) + "|02:30", over}, {of("any", cron("30 2 * * *", skip), cron("0 2 * * *", "")) + "|02:30", over},
		{of("any", cron("*/30 * * * *", ""), cron("30 2 * * *", "")) + "|02:30", after}, {of("any", cron("30 2 * * *", shift), cron("0 3 * * *", "")) + "|02:30", shifted},
		{of("any", cron("30 2 * * *", tokyo), cron("0 3 * * *", "")) + "|02:30", no},
		{of("any", cron("30 2 * * *", `,"end":"2026-03-01"`), cron("0 3 * * *", "")) + "|02:30", over},
		{of("all", cron("*/30 * * * *", ""), cron("*/15 * * * *", "")) + "|02:30", over}, {of("all", cron("*/30 * * * *", ""), cron("30 2 * * *", "")) + "|02:30", after},
		{of("all", cron("30 2 * * *", skip), cron("0,30 2,3 * * *", "")) + "|02:30", over}, {of("all", cron("0 2,3 * * *", ""), cron("30 2,3 * * *", "")) + "|02:30", no},
		{`{"kind":"except","of":` + cron("*/30 * * * *", "") + `,"not":[{"days":{"weekdays":["sat"]}}]}|02:30`, over},
		{`{"kind":"except","of":` + cron("30 2 * * *", "") + `,"not":[` + cron("0 3 * * *", "") + `]}|02:30`, over},
		{`{"kind":"except","of":` + cron("30 2,3 * * *", shift) + `,"not":[{"days":{"weekdays":["sat"]}}]}|02:30`, shifted},
		{`{"kind":"only","of":` + cron("*/30 * * * *", "") + `,"in":[{"days":{"weekdays":["sun"]}}]}|02:30`, over},
		{`{"kind":"only","of":` + cron("30 2 * * *", "") + `,"in":[{"days":{"weekdays":["sun"]}}]}|02:30`, after},
		{moved("except", "not", "sat", "next", "30 2 * * sat", "") + "|02:30", after}, {moved("except", "not", "sat", "next", "30 2 * * sat", skip) + "|02:30", after},
		{moved("only", "in", "sun", "next", "30 2 * * fri", "") + "|02:30", after}, {moved("except", "not", "mon", "previous", "30 2 * * mon", shift) + "|02:30", after},
		{moved("except", "not", "sat", "skip", "30 2 * * fri,sat", "") + "|02:30", no}, {moved("except", "not", "sat", "next", "0 3 * * sat", "") + "|02:30", no},
		{moved("except", "not", "sun", "next", "30 2 * * sat,sun", "") + "|02:30", no},
	} {
		args := strings.Split(c.args, "|")
		args[len(args)-1] = "2026-03-29 " + args[len(args)-1]
		got := run(t, nil, "", append([]string{"explain", "--tz", "Europe/Berlin", "--from", "2026-03-01"}, args...)...)
		lines := strings.Split(got.out, "\n")
		if got.status != 0 || len(lines) < 2 || lines[1] != "  gap: "+c.want {
			t.Errorf("%q: exit %d, %s%s; want %s", args, got.status, got.out, got.errors, c.want)
		}
	}
	for _, args := range [][]string{{"-o", "json"}, {"--lang", "zh"}} {
		got := run(t, nil, "", append(append([]string{"explain", "--tz", "Europe/Berlin"}, args...), "*/30 * * * *", "2026-03-29 02:30")...)
		if !strings.Contains(got.out, "它要求这个时间，但略过") || strings.Contains(got.out, "间隙后的第一个时刻") {
			t.Errorf("%q: %s", args, got.out)
		}
	}
}

func TestExplainTellsOfBothInstantsOfATimeThatComesTwice(t *testing.T) {
	got := run(t, nil, "", "explain", "--tz", "Europe/Berlin", "30 2 * * *", "2026-10-25 02:30")
	want := strings.Join([]string{
		"2026-10-25 02:30:00 comes twice in Europe/Berlin, where the clock is set back:",
		"2026-10-25T02:30:00+02:00 fires", "before: 2026-10-24T02:30:00+02:00", "after:  2026-10-26T02:30:00+01:00",
		"2026-10-25T02:30:00+01:00 does not fire:", "  fold: a clock change brings 02:30:00 twice, this is the second time, and fold is auto",
		"before: 2026-10-25T02:30:00+02:00", "after:  2026-10-26T02:30:00+01:00",
	}, "\n") + "\n"
	if got.status != 0 || got.out != want {
		t.Errorf("exit %d, %s%s", got.status, got.out, got.errors)
	}
	zh := run(t, nil, "", "explain", "--lang", "zh", "--tz", "Europe/Berlin", "30 2 * * *", "2026-10-25 02:30")
	for _, part := range []string{"2026-10-25 02:30:00 在 Europe/Berlin 出现两次", "2026-10-25T02:30:00+02:00 触发\n", "2026-10-25T02:30:00+01:00 不触发：\n  fold: 时钟变更使 02:30:00 出现两次，此刻是第二次"} {
		if !strings.Contains(zh.out, part) {
			t.Errorf("%s is missing in %s", part, zh.out)
		}
	}
	shape := run(t, nil, "", "explain", "-o", "json", "--tz", "Europe/Berlin", "30 2 * * *", "2026-10-25 02:30")
	if !strings.Contains(shape.out, `"second_pass": {`) || !strings.Contains(shape.out, `"at": "2026-10-25T02:30:00+02:00"`) || !strings.Contains(shape.out, `"at": "2026-10-25T02:30:00+01:00"`) {
		t.Errorf("as JSON: %s", shape.out)
	}
	one := run(t, nil, "", "explain", "--tz", "Europe/Berlin", "30 2 * * *", "2026-10-25T02:30:00+02:00")
	if !strings.HasPrefix(one.out, "2026-10-25T02:30:00+02:00 fires\n") || strings.Contains(one.out, "+01:00 does not") {
		t.Errorf("with an offset one instant is meant: %s", one.out)
	}
	if got := run(t, nil, "", "explain", "--lang", "fr", "0 9 * * *", "2026-10-25"); got.status != 2 || !strings.Contains(got.errors, "--lang: ") {
		t.Errorf("a language that is not known: %+v", got)
	}
	if got := run(t, nil, "", "explain", "--tz", "UTC", "0 9 * * *", "2026-02-30"); got.status != 2 || strings.Contains(got.errors, "date: ") || !strings.HasPrefix(got.errors, "ruqi: AT: ") {
		t.Errorf("what is no time: %+v", got)
	}
}

func TestNextSaysWhyThereIsNothing(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--end", "2026-12-01", "0 9 * * *"}, "it has ended: its end is 2026-12-01T00:00:00Z, and its last fire time was 2026-11-30T09:00:00Z"},
		{[]string{"--from", "2026-11-30 12:00", "--end", "2026-12-01", "0 9 * * *"}, "no fire time after 2026-11-30T12:00:00Z: its end is 2026-12-01T00:00:00Z, and its last fire time was 2026-11-30T09:00:00Z"},
		{[]string{"--until", "2027-01-02", "0 9 1 2 *"}, "no fire time after 2027-01-01T00:00:00Z until 2027-01-02T00:00:00Z: the next one is 2027-02-01T09:00:00Z"},
		{[]string{"--trigger", "date", "2026-12-01"}, "it has ended: its last fire time was 2026-12-01T00:00:00Z"},
		{[]string{"--previous", "--start", "2027-01-01", "0 9 * * *"}, "no fire time before 2027-01-01T00:00:00Z: the first one is 2027-01-01T09:00:00Z"},
		{[]string{"--previous", "--until", "2026-12-31", "0 9 1 2 *"}, "no fire time from 2026-12-31T00:00:00Z to 2027-01-01T00:00:00Z: the last one before is 2026-02-01T09:00:00Z"},
	} {
		args := append([]string{"next", "--tz", "UTC", "--from", "2027-01-01"}, c.args...)
		if strings.HasPrefix(c.args[0], "--from") {
			args = append([]string{"next", "--tz", "UTC"}, c.args...)
		}
		got := run(t, nil, "", args...)
		if got.status != 0 || got.out != "" || got.errors != "ruqi: "+c.want+"\n" {
			t.Errorf("%q: exit %d, %q, %q, want %q", c.args, got.status, got.out, got.errors, c.want)
		}
	}
	if got := run(t, nil, "", "next", "--tz", "UTC", "@reboot"); got.status != 0 || got.out != "" || strings.Count(got.errors, "\n") != 1 {
		t.Errorf("@reboot: %+v", got)
	}
}

// Where the search backwards is given up, nothing says that there is no time before.
func TestASearchBackwardsThatIsGivenUpIsTold(t *testing.T) {
	const january = `{"kind":"except","of":{"kind":"cron","expr":"* * * * * *"},"not":[{"kind":"cron","expr":"* * * * 2-12 *"}]}`
	const told = "no fire time was found before 2026-12-30T00:00:00Z; the search was given up, and there may be earlier ones\n"
	got := run(t, nil, "", "explain", "--tz", "UTC", january, "2026-12-30")
	if got.status != 0 || !strings.HasSuffix(got.out, "\nbefore: none was found, the search was given up\nafter:  2027-01-01T00:00:00Z\n") {
		t.Errorf("%+v", got)
	}
	if got = run(t, nil, "", "explain", "--lang", "zh", "--tz", "UTC", january, "2026-12-30"); !strings.HasSuffix(got.out, "\n之前：未找到，搜索已中止\n之后：2027-01-01T00:00:00Z\n") {
		t.Errorf("%+v", got)
	}
	if got = run(t, nil, "", "explain", "-o", "json", "--tz", "UTC", january, "2026-12-30"); got.status != 0 || !strings.Contains(got.out, `"before": null`) || got.errors != told {
		t.Errorf("%+v", got)
	}
	if got = run(t, nil, "", "next", "--previous", "--tz", "UTC", "--from", "2026-12-30", january); got.status != 0 || got.out != "" || got.errors != told {
		t.Errorf("%+v", got)
	}
}

func TestJobListSaysInWordsWhenATriggerMadeOfOthersFires(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("calendar", "put", "holidays", write(t, "days.yaml", "yearly: [--12-25]\n"))
	s.ok("job", "add", "--file", write(t, "jobs.json", `{"id":"work","trigger":{"kind":"except","of":{"kind":"cron","expr":"0 9 * * *","zone":"UTC"},"not":[{"calendar":"holidays"}]},"task":{"kind":"command","command":"echo work"}}`))
	s.ok("job", "add", "--file", write(t, "jobs.json", `{"id":"both","trigger":{"kind":"any","zone":"UTC","of":[{"kind":"cron","expr":"0 6 * * *"},{"kind":"cron","expr":"0 18 * * sun"}]},"task":{"kind":"command","command":"echo both"}}`))
	s.ok("job", "add", "cron", "--cron", "0 9 * * *", "--tz", "UTC", "--command", "echo cron")
	got := s.ok("job", "list")
	for _, want := range []string{
		`  at 09:00 every day, UTC, except on the days of calendar "holidays"  `,
		"  at 06:00 every day, UTC; and also at 18:00 on Sunday, UTC  ", "  0 9 * * * UTC  ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "{}") {
		t.Errorf("there is JSON in\n%s", got)
	}
}

func TestAnotherZoneMovesThePartsThatLiveInTheOldOne(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "--file", write(t, "jobs.json", `{"id":"both","trigger":{"kind":"any","zone":"Europe/Berlin","of":[{"kind":"cron","expr":"0 6 * * *"},`+
		`{"kind":"cron","expr":"0 7 * * *","zone":"Asia/Tokyo"},{"kind":"except","of":{"kind":"cron","expr":"0 8 * * *"},"not":[{"kind":"cron","expr":"0 8 * * sun"}]},`+
		`{"kind":"all","of":[{"kind":"every","text":"weekday at 09:00"},{"kind":"cron","expr":"0 9 1 * *"}]}]},"task":{"kind":"command","command":"true"}}`))
	s.ok("job", "modify", "both", "--tz", "America/New_York")
	want := "at 06:00 every day, America/New_York time; and also at 07:00 every day, Asia/Tokyo time; and also at 08:00 every day, America/New_York time, " +
		"except for the times at 08:00 on Sunday, America/New_York time; and also whenever these fire at one instant: at 09:00 on Monday to Friday, America/New_York time; " +
		"at 09:00 on the 1st of the month, America/New_York time\n"
	if got := s.ok("describe", "--job", "both"); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if got := s.ok("next", "--job", "both", "--from", "2026-07-01T00:00:00Z", "-n", "2"); got != "2026-07-01T06:00:00-04:00\n2026-07-01T08:00:00-04:00\n" {
		t.Errorf("got %q", got)
	}
	got := s.ruqi("job", "modify", "both", "--tz", "Mars")
	if got.status != 2 || strings.Count(got.errors, "\n") != 1 || !strings.HasPrefix(got.errors, "ruqi: --tz: ") {
		t.Errorf("a zone that there is not: %+v", got)
	}
	s.ok("job", "add", "--file", write(t, "jobs.json", `{"id":"but","trigger":{"kind":"except","of":{"kind":"cron","expr":"0 6 * * *","zone":"UTC"},"not":[{"days":{"weekdays":["sun"]}}]},"task":{"kind":"command","command":"true"}}`))
	s.ok("job", "modify", "but", "--tz", "Asia/Tokyo")
	if got := s.ok("describe", "--job", "but"); got != "at 06:00 every day, Asia/Tokyo time, except on Sundays\n" {
		t.Errorf("got %q", got)
	}
	s.fails(2, "--tz: ", "job", "modify", "but", "--tz", "Mars")
}
