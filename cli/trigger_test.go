package cli_test

import (
	"slices"
	"strings"
	"testing"
)

func TestNextLooksBackAndStops(t *testing.T) {
	const cron = "0 9 * * mon-fri"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--from", "2026-11-30 09:00", "--previous", "-n", "2", cron}, "2026-11-27T09:00:00Z\n2026-11-26T09:00:00Z\n"},
		{[]string{"--from", "2026-11-30 09:00", "--previous", "--until", "2026-11-27 09:00", cron}, "2026-11-27T09:00:00Z\n"},
		{[]string{"--from", "2026-11-30 09:00", "--until", "2026-12-02 09:00", cron}, "2026-12-01T09:00:00Z\n2026-12-02T09:00:00Z\n"},
		{[]string{"--from", "2026-11-30 09:00", "--until", "2026-11-30 10:00", cron}, ""},
		{[]string{"--from", "2026-11-30", "--start", "2026-12-24", "--end", "2026-12-25 09:00", cron}, "2026-12-24T09:00:00Z\n2026-12-25T09:00:00Z\n"},
		{[]string{"--from", "2026-11-30", "-n", "1", "--dialect", "fields", "day='3rd fri' hour=18"}, "2026-12-18T18:00:00Z\n"},
		{[]string{"--from", "2026-11-30", "-n", "1", "--dialect", "quartz", "0 15 10 ? * 6L"}, "2026-12-25T10:15:00Z\n"},
		{[]string{"--from", "2026-11-30", "-n", "1", `{"kind":"cron","expr":"0 9 * * *","zone":"Asia/Shanghai"}`}, "2026-11-30T09:00:00+08:00\n"},
		{[]string{"--from", "2026-11-30", "-n", "1", "--trigger", "json", ` {"kind":"interval","every":"90m"}`}, "2026-11-30T01:30:00Z\n"},
		{[]string{"--from", "2026-11-30", "-n", "1", "--trigger", "date", `{"kind":"date","at":"2026-12-01"}`}, "2026-12-01T00:00:00Z\n"},
	} {
		got := run(t, nil, "", append([]string{"next", "--tz", "UTC"}, c.args...)...)
		if got.status != 0 || got.out != c.want {
			t.Errorf("%q: exit %d, %q, want %q; %s", c.args, got.status, got.out, c.want, got.errors)
		}
	}
	one := run(t, nil, "", "next", "--tz", "UTC", "--from", "2026-11-30", "-n", "1", "--seed", "a", "H H * * *")
	two := run(t, nil, "", "next", "--tz", "UTC", "--from", "2026-11-30", "-n", "1", "--seed", "b", "H H * * *")
	if one.out == two.out || one.status != 0 {
		t.Errorf("two jobs have the same time for H: %q", one.out)
	}
}

func TestDescribeSaysItInBothLanguages(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tz", "UTC", "30 2 * * mon-fri"}, "at 02:30 on Monday to Friday, UTC"},
		{[]string{"--tz", "Asia/Shanghai", "--lang", "zh", "*/5 9-17 * * mon-fri"}, "在每周一至周五的 09:00 至 17:55 每 5 分钟，Asia/Shanghai 时间"},
		{[]string{"--tz", "UTC", "TZ=Asia/Tokyo 0 9 * * *"}, "at 09:00 every day, Asia/Tokyo time"},
		{[]string{"--tz", "UTC", "--dialect", "quartz", "0 15 10 ? * 6L"}, "at 10:15 on the last Friday of the month, UTC"},
		{[]string{"--tz", "UTC", "--dialect", "fields", "day='3rd fri' hour=18"}, "at 18:00 on the third Friday of the month, UTC"},
		{[]string{"--tz", "UTC", "--dialect", "ruqi", "0 30 2 last * *"}, "at 02:30 on the last day of the month, UTC"},
		{[]string{"--tz", "UTC", "--start", "2026-12-01", "0 9 * * *"}, "at 09:00 every day, UTC, from 2026-12-01 00:00 on"},
		{[]string{"--tz", "UTC", "H H * * *"}, "at a time set by the job's id every day, UTC"},
		{[]string{"--tz", "UTC", "--trigger", "interval", "90 minutes"}, "every 1 hour and 30 minutes, UTC"},
		{[]string{"--tz", "UTC", "--trigger", "date", "2026-12-01 09:00"}, "once at 2026-12-01 09:00, UTC"},
		{[]string{"--tz", "UTC", `{"kind":"cron","expr":"0 9 * * *","zone":"Asia/Tokyo"}`}, "at 09:00 every day, Asia/Tokyo time"},
	} {
		got := run(t, nil, "", append([]string{"describe"}, c.args...)...)
		if got.status != 0 || got.out != c.want+"\n" {
			t.Errorf("%q: exit %d, %q, want %q; %s", c.args, got.status, got.out, c.want, got.errors)
		}
	}
	got := run(t, nil, "", "describe", "-o", "json", "--tz", "UTC", "0 9 * * *")
	if want := "{\n  \"en\": \"at 09:00 every day, UTC\",\n  \"zh\": \"在每天的 09:00，UTC 时间\"\n}\n"; got.out != want {
		t.Errorf("got %s", got.out)
	}
}

func TestExplainSaysWhyNot(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--tz", "UTC", "30 2 * * mon-fri", "2026-11-30 02:30"},
			[]string{"2026-11-30T02:30:00Z fires", "before: 2026-11-27T02:30:00Z", "after:  2026-12-01T02:30:00Z"}},
		{[]string{"--tz", "UTC", "30 2 * * mon-fri", "2026-11-29 02:30"},
			[]string{"2026-11-29T02:30:00Z does not fire:", "  day_of_week: the weekday is sun, and the expression asks for mon-fri", "before: 2026-11-27T02:30:00Z", "after:  2026-11-30T02:30:00Z"}},
		{[]string{"--tz", "Europe/Berlin", "30 2 * * *", "2026-10-25T02:30:00+01:00"},
			[]string{"2026-10-25T02:30:00+01:00 does not fire:", "  fold: a clock change brings 02:30:00 twice, this is the second time, and fold is auto", "before: 2026-10-25T02:30:00+02:00", "after:  2026-10-26T02:30:00+01:00"}},
		{[]string{"--tz", "UTC", "TZ=Asia/Tokyo 0 9 * * *", "2026-11-29 09:00"}, // a time of the trigger's zone
			[]string{"2026-11-29T09:00:00+09:00 fires", "before: 2026-11-28T09:00:00+09:00", "after:  2026-11-30T09:00:00+09:00"}},
		{[]string{"--tz", "UTC", "--trigger", "interval", "--from", "2026-11-29", "1h", "2026-11-29 00:30"},
			[]string{"2026-11-29T00:30:00Z does not fire:", "  anchor: the first fire time is 2026-11-29T01:00:00Z, one length after the anchor 2026-11-29T00:00:00Z", "before: never", "after:  2026-11-29T01:00:00Z"}},
		{[]string{"--tz", "UTC", `{"kind":"date","at":"2026-12-01"}`, "2026-12-01"}, []string{"2026-12-01T00:00:00Z fires", "before: never", "after:  never"}},
	} {
		got := run(t, nil, "", append([]string{"explain"}, c.args...)...)
		if got.status != 0 || got.out != strings.Join(c.want, "\n")+"\n" {
			t.Errorf("%q: exit %d, %s%s", c.args, got.status, got.out, got.errors)
		}
	}
	got := run(t, nil, "", "explain", "-o", "json", "--tz", "UTC", "0 9 * * *", "2026-11-29 10:00")
	for _, part := range []string{`"fires": false`, `"part": "hour"`, `"before": "2026-11-29T09:00:00Z"`, `"at": "2026-11-29T10:00:00Z"`} {
		if !strings.Contains(got.out, part) {
			t.Errorf("%s is missing in %s", part, got.out)
		}
	}
}

func TestCommandsAboutATriggerTellEveryFaultByItsFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"next", "--tz", "UTC", "--previous", "--from", "2027-01-01", "--until", "2027-01-02", "0 9 * * *"}, []string{"--until: later than --from; with --previous "}},
		{[]string{"next", "--until", "soon", "--start", "never", "0 9 * * *"}, []string{"--until: ", "--start: "}},
		{[]string{"next", "--tz", "Nowhere", "--until", "soon", "-n", "0", "61 * * * *"}, []string{"--tz: ", "--until: ", "-n: ", "minute: "}},
		{[]string{"next", "--trigger", "interval", `{"kind":"cron","expr":"0 9 * * *"}`}, []string{"--trigger: ", "cron"}},
		{[]string{"next", "--gap", "skip", "--dialect", "ruqi", `{"kind":"cron","expr":"0 9 * * *"}`}, []string{"--gap: ", "--dialect: "}},
		{[]string{"next", "--trigger", "json", "0 9 * * *"}, []string{"JSON"}},
		{[]string{"next", `{"kind":"cron","expr":"61 9 * * *"}`}, []string{"minute: "}},
		{[]string{"next", `[{"kind":"cron","expr":"0 9 * * *"},{"kind":"cron","expr":"0 18 * * *"}]`}, []string{`ruqi: expression: a trigger is one JSON object; several are the parts of one of kind any, {"kind":"any","of":[`}},
		{[]string{"describe", "--trigger", ` [{"kind":"cron","expr":"0 9 * * *"}]`}, []string{"ruqi: expression: a trigger is one JSON object"}},
		{[]string{"next", "--trigger", `{"kind":"cron","expr":"61 9 * * *"}`}, []string{"minute: "}},
		{[]string{"next", "--trigger", `{"kind":"cron","expr":"0 9 * * *"}`, "0 9 * * *"}, []string{"ruqi next with JSON in --trigger takes nothing"}},
		{[]string{"explain", "--trigger", `{"kind":"cron","expr":"0 9 * * *"}`}, []string{"wants a time"}},
		{[]string{"job", "add", "x", "--trigger", `[{"kind":"cron","expr":"0 9 * * *"}]`, "--command", "true"}, []string{`--trigger: a trigger is one JSON object; several`}},
		{[]string{"job", "add", "x", "--trigger", "interval", "--command", "true"}, []string{`--trigger: not a JSON object such as {"kind":"any","of":[…]}; a trigger of kind interval is given by --every`}},
		{[]string{"next", "every monday at 9:00"}, []string{`ruqi: expression: "every monday at 9:00" is words, which are read with --trigger every`}},
		{[]string{"next", "every mon-fri at 9am"}, []string{`ruqi: expression: these look like words: that is a kind every, every weekday at 09:00, at column 1`}},
		{[]string{"next", "--trigger", "every", "every mon-fri at 9am"}, []string{`"mon-fri" is not understood here`, `; as a whole, write every weekday at 09:00`}},
		{[]string{"job", "add", "x", "--every", "twice a day", "--command", "true"}, []string{`; as a whole, write every 12 hours`}},
		{[]string{"next", `{"kind":"moon"}`}, []string{"kind: ", "moon"}},
		{[]string{"next", "--trigger", "except", `{"kind":"except","of":{"kind":"cron","expr":"0 9 * * *"},"days":[]}`}, []string{"not: missing", "days: unknown member"}},
		{[]string{"next", `{"kind":"any","of":[{"kind":"cron","expr":"61 9 * * *","zone":"Mars"}]}`}, []string{"of.0.expr: minute: ", "of.0.zone: "}},
		{[]string{"next", `{"kind":"cron","expr":"0 9 * * *","zone":"Mars","gap":"x"}`}, []string{"ruqi: zone: ", "ruqi: gap: "}},
		{[]string{"next", "--trigger", "date", "foo"}, []string{`ruqi: date: "foo" is not a date`}},
		{[]string{"explain", "--trigger", "date", "foo", "then"}, []string{`ruqi: date: "foo" is not a date`, "ruqi: AT: "}},
		{[]string{"describe"}, []string{"expression: "}},
		{[]string{"describe", "0", "9", "*", "*", "*"}, []string{"expression: "}},
		{[]string{"describe", "--lang", "fr", "--tz", "Nowhere", "61 * * * *"}, []string{"--lang: ", "--tz: ", "minute: "}},
		{[]string{"describe", "--dialect", "quarz", "0 9 * * *"}, []string{"--dialect: "}},
		{[]string{"explain", "0 9 * * *"}, []string{"expression: ", "a time"}},
		{[]string{"explain", "--from", "soon", "61 * * * *", "then"}, []string{"--from: ", "minute: ", "AT: "}},
		{[]string{"next", "--tz", "Europe/Berlin", "--from", "2026-03-29 02:30", "30 2 * * *"}, []string{"--from: ", "does not exist in Europe/Berlin", "2026-03-29T03:00:00+02:00"}},
	} {
		got := run(t, nil, "", c.args...)
		if got.status != 2 || got.out != "" {
			t.Errorf("%q: exit %d, %q", c.args, got.status, got.out)
		}
		for _, part := range c.want {
			if !strings.Contains(got.errors, part) {
				t.Errorf("%q: %q is missing in %s", c.args, part, got.errors)
			}
		}
	}
}

func TestATriggerInJSONIsTakenAsTheExpressionAndByItsFlag(t *testing.T) {
	const json = `{"kind":"cron","expr":"0 9 * * *","zone":"UTC"}`
	for _, c := range [][]string{{"next", "--from", "2026-12-01", "-n", "1"}, {"describe"}, {"explain", "--from", "2026-12-01"}} {
		at := []string{}
		if c[0] == "explain" {
			at = []string{"2026-12-01T10:00:00Z"}
		}
		want := run(t, nil, "", slices.Concat(c, []string{"--", json}, at)...)
		for _, flags := range [][]string{{"--trigger", json}, {"--trigger", " " + json}, {"--trigger", "json", json}, {"--trigger", "cron", json}} {
			if got := run(t, nil, "", slices.Concat(c, flags, at)...); got.status != 0 || got.out == "" || got.out != want.out {
				t.Errorf("%q %q: exit %d: %s%s, want %s", c, flags, got.status, got.out, got.errors, want.out)
			}
		}
	}
}

func TestAJobIsShownWithItsTriggerInWords(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	s.ok("job", "add", "report", "--cron", "30 2 * * mon-fri", "--tz", "Asia/Tokyo", "--command", "true")
	if got := s.ok("job", "get", "report"); !strings.Contains(got, "at 02:30 on Monday to Friday, Asia/Tokyo time\n") {
		t.Errorf("got %s", got)
	}
}

func TestAFaultInTheJSONOfATriggerNamesItsMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"interval"}`:    "ruqi: every: missing\n",
		`{"kind":"any","of":[]}`: "ruqi: of: empty; ",
		`{"kind":"any","of":[{"kind":"cron","expr":"61 * * * *"}]}`:                 "ruqi: of.0.expr: minute: 61 is out of range",
		`{"kind":"except","of":{"kind":"cron","expr":"0 9 * * *"},"not":[{"x":1}]}`: "ruqi: not.0: ",
		`{"kind":"cron","expr":"0 9 * * *","gap":"z"}`:                              "ruqi: gap: ",
	} {
		for _, command := range []string{"next", "describe"} {
			got := run(t, nil, "", command, "--tz", "UTC", text)
			if got.status != 2 || got.out != "" || !strings.HasPrefix(got.errors, want) {
				t.Errorf("%s %s: exit %d, %q, %q, want %q", command, text, got.status, got.out, got.errors, want)
			}
		}
	}
}
