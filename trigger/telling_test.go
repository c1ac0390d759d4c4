package trigger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestCalendarsAndWordsAreDescribed(t *testing.T) {
	const changes, changesZh = "; a time that a clock change leaves out fires right after it; one that comes twice fires the first time",
		"；时钟调整跳过的时刻在调整后立即触发；重复的时刻只在第一次触发"
	shift := trigger.ParseOptions{Gap: "shift", Fold: "both"}
	for _, c := range []struct {
		kind, text, zone string
		o                trigger.ParseOptions
		english, chinese string
	}{
		{"every", "every monday at 13:15 until 2030-01-01", "Europe/Berlin", trigger.ParseOptions{},
			"at 13:15 on Monday, Europe/Berlin time, until 2030-01-01", "在每周一的 13:15，Europe/Berlin 时间，至 2030-01-01 止"},
		{"every", "every day at 02:30", "Europe/Berlin", trigger.ParseOptions{},
			"at 02:30 every day, Europe/Berlin time" + changes, "在每天的 02:30，Europe/Berlin 时间" + changesZh},
		{"every", "every day at 02:30", "Asia/Shanghai", trigger.ParseOptions{},
			"at 02:30 every day, Asia/Shanghai time", "在每天的 02:30，Asia/Shanghai 时间"},
		{"every", "every day at 02:30", "UTC", trigger.ParseOptions{}, "at 02:30 every day, UTC", "在每天的 02:30，UTC 时间"},
		{"every", "every day at 02:30", "", trigger.ParseOptions{}, "at 02:30 every day", "在每天的 02:30"},
		{"every", "every weekday at 09:00, 17:00", "Europe/Berlin", trigger.ParseOptions{},
			"at 09:00 and 17:00 on Monday to Friday, Europe/Berlin time", "在每周一至周五的 09:00 和 17:00，Europe/Berlin 时间"},
		{"every", "every monday, thursday", "", trigger.ParseOptions{}, "at 00:00 on Monday and Thursday", "在每周一和周四的 00:00"},
		{"every", "every monday, wednesday, thursday, saturday", "", trigger.ParseOptions{},
			"at 00:00 on Monday, Wednesday, Thursday and Saturday", "在每周一、周三、周四和周六的 00:00"},
		{"every", "every fri, sat, sun, mon at 01:00, 12:15, 14:00:30", "", trigger.ParseOptions{},
			"at 01:00, 12:15 and 14:00:30 on Friday to Monday", "在每周五至周一的 01:00、12:15 和 14:00:30"},
		{"every", "every 3 days at 09:00", "", trigger.ParseOptions{}, "at 09:00 every 3 days, counted from the day it is set", "每 3 天的 09:00，自设定之日起计"},
		{"every", "every 3 days at 09:00", "Europe/Berlin", trigger.ParseOptions{},
			"at 09:00 every 3 days, Europe/Berlin time, counted from 2026-03-01", "每 3 天的 09:00，Europe/Berlin 时间，自 2026-03-01 起计"},
		{"every", "every week at 09:00", "Europe/Berlin", trigger.ParseOptions{},
			"at 09:00 every week on Sunday, Europe/Berlin time, counted from 2026-03-01", "在每周日的 09:00，Europe/Berlin 时间，自 2026-03-01 起计"},
		{"every", "every 2 weeks at 09:00", "UTC", trigger.ParseOptions{Start: "2026-03-02"},
			"at 09:00 every 2 weeks on Monday, UTC, from 2026-03-02 on", "每 2 周的周一的 09:00，UTC 时间，自 2026-03-02 起"},
		{"every", "every minute at :30", "Europe/Berlin", trigger.ParseOptions{},
			"every minute at second 30, Europe/Berlin time", "每分钟的第 30 秒，Europe/Berlin 时间"},
		{"every", "every hour at :15", "", trigger.ParseOptions{}, "every hour at minute 15", "每小时的第 15 分"},
		{"every", "every hour at :15:30", "Europe/Berlin", trigger.ParseOptions{Fold: "second"},
			"every hour at minute 15, second 30, Europe/Berlin time; a time that a clock change brings twice fires the second time",
			"每小时的第 15 分 30 秒，Europe/Berlin 时间；时钟调整后重复的时刻只在第二次触发"},
		{"every", "every 5 to 10 minutes", "", trigger.ParseOptions{}, "every 5 to 10 minutes at random", "每 5 至 10 分钟（随机）"},
		{"every", "every 5 to 10 minutes until 2026-10-25 02:30", "Europe/Berlin", trigger.ParseOptions{},
			"every 5 to 10 minutes at random, Europe/Berlin time, counted from 2026-03-01 13:00:00.5, until 2026-10-25 02:30 +02:00",
			"每 5 至 10 分钟（随机），Europe/Berlin 时间，自 2026-03-01 13:00:00.5 起计，至 2026-10-25 02:30 +02:00 止"},
		{"every", "in 5 minutes", "", trigger.ParseOptions{}, "once, 5 minutes after it is set", "设定 5 分钟后执行一次"},
		{"every", "in 1 hour", "Asia/Shanghai", trigger.ParseOptions{},
			"once at 2026-03-01 21:00:00.5, Asia/Shanghai time", "在 2026-03-01 21:00:00.5 执行一次，Asia/Shanghai 时间"},

		{"calendar", "days=1 hour=2 minute=30", "Europe/Berlin", trigger.ParseOptions{},
			"at 02:30 every day, Europe/Berlin time, counted from 2026-03-01" + changes, "在每天的 02:30，Europe/Berlin 时间，自 2026-03-01 起计" + changesZh},
		{"calendar", "days=1 hour=2 minute=30 start_date=2026-03-01", "Europe/Berlin", shift,
			"at 02:30 every day, Europe/Berlin time, from 2026-03-01 on; a time that a clock change leaves out fires later by as much as is left out; one that comes twice fires both times",
			"在每天的 02:30，Europe/Berlin 时间，自 2026-03-01 起；时钟调整跳过的时刻按跳过的时长顺延触发；重复的时刻两次都触发"},
		{"calendar", "days=3", "", trigger.ParseOptions{}, "at 00:00 every 3 days, counted from the day it is set", "每 3 天的 00:00，自设定之日起计"},
		{"calendar", "weeks=1 hour=9", "UTC", trigger.ParseOptions{},
			"at 09:00 every week on Sunday, UTC, counted from 2026-03-01", "在每周日的 09:00，UTC 时间，自 2026-03-01 起计"},
		{"calendar", "months=1 hour=9 start_date=2026-01-31", "UTC", trigger.ParseOptions{},
			"at 09:00 every month on the 31st, where there is one, UTC, from 2026-01-31 on", "在每月 31 日（没有该日的月份除外）的 09:00，UTC 时间，自 2026-01-31 起"},
		{"calendar", "months=2 hour=9 minute=5 second=1 start_date=2026-01-15 end_date=2027-01-01", "UTC", trigger.ParseOptions{},
			"at 09:05:01 every 2 months on the 15th, UTC, from 2026-01-15 on, until 2027-01-01", "每 2 个月的 15 日的 09:05:01，UTC 时间，自 2026-01-15 起，至 2027-01-01 止"},
		{"calendar", "months=1 start_date=2026-01-22", "UTC", trigger.ParseOptions{},
			"at 00:00 every month on the 22nd, UTC, from 2026-01-22 on", "在每月 22 日的 00:00，UTC 时间，自 2026-01-22 起"},
		{"calendar", "months=1 start_date=2026-01-13", "UTC", trigger.ParseOptions{},
			"at 00:00 every month on the 13th, UTC, from 2026-01-13 on", "在每月 13 日的 00:00，UTC 时间，自 2026-01-13 起"},
		{"calendar", "years=1 start_date=2024-02-29", "UTC", trigger.ParseOptions{},
			"at 00:00 every year on 29 February, where there is one, UTC, from 2024-02-29 on", "在每年 2 月 29 日（没有该日的年份除外）的 00:00，UTC 时间，自 2024-02-29 起"},
		{"calendar", "years=2", "UTC", trigger.ParseOptions{},
			"at 00:00 every 2 years on 1 March, UTC, counted from 2026-03-01", "每 2 年的 3 月 1 日的 00:00，UTC 时间，自 2026-03-01 起计"},
		{"calendar", "months=1", "", trigger.ParseOptions{}, "at 00:00 every month, counted from the day it is set", "在每月的 00:00，自设定之日起计"},
		{"calendar", "years=1 months=2 weeks=1 days=3 hour=8", "UTC", trigger.ParseOptions{},
			"at 08:00 every 1 year, 2 months, 1 week and 3 days, UTC, counted from 2026-03-01", "每隔 1 年 2 个月 1 周零 3 天的 08:00，UTC 时间，自 2026-03-01 起计"},
	} {
		trig, err := trigger.Parse(c.kind, c.text, c.o)
		if err == nil && c.zone != "" {
			trig, err = trig.(ruqi.Binder).Bind(zone(t, c.zone), instant(t, "2026-03-01T12:00:00.5Z"), "job")
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		d := trig.(ruqi.Describer)
		if got := d.Describe(ruqi.English); got != c.english {
			t.Errorf("%s %q:\n got %s\nwant %s", c.kind, c.text, got, c.english)
		}
		if got := d.Describe(ruqi.Chinese); got != c.chinese {
			t.Errorf("%s %q:\n got %s\nwant %s", c.kind, c.text, got, c.chinese)
		}
		if got := d.Describe("tlh"); got != c.english {
			t.Errorf("%s %q in a language that is not known: %s", c.kind, c.text, got)
		}
	}
	for built, want := range map[ruqi.Describer][2]string{
		trigger.Every(10).Minutes():                             {"every 10 minutes", "每 10 分钟"},
		trigger.Every(1).Day():                                  {"every 1 day", "每 1 天"},
		trigger.Every(0).Minutes():                              {"never: it is invalid", "从不：无效"},
		words(t, "now").(*trigger.EveryTrigger):                 {"once, as soon as it is set", "设定后立即执行一次"},
		words(t, "at 2026-03-01 10:00").(*trigger.EveryTrigger): {"once at 2026-03-01 10:00", "在 2026-03-01 10:00 执行一次"},
	} {
		if got := [2]string{built.Describe(ruqi.English), built.Describe(ruqi.Chinese)}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCalendarsAndWordsSayWhyNot(t *testing.T) {
	for _, c := range []struct {
		kind, text, at string
		o              trigger.ParseOptions
		want           []string
	}{
		{"every", "every monday at 13:15", "2026-03-02T13:15:00+01:00", trigger.ParseOptions{}, nil},
		{"every", "every weekday at 13:15", "2026-03-07T13:15:00+01:00", trigger.ParseOptions{}, []string{"day_of_week: the weekday is Saturday, and it asks for Monday to Friday"}},
		{"every", "every monday at 13:15, 17:00", "2026-03-03T13:16:05+01:00", trigger.ParseOptions{},
			[]string{"day_of_week: the weekday is Tuesday, and it asks for Monday", "time: the time is 13:16:05, and it asks for 13:15 or 17:00"}},
		{"every", "every monday at 13:15", "2026-03-02T13:15:00.5+01:00", trigger.ParseOptions{}, []string{"second: the instant has a fraction of a second, and it fires at whole seconds"}},
		{"every", "every day at 13:15", "2026-03-02T13:15:00+01:00", trigger.ParseOptions{Start: "2026-03-03", End: "2026-03-04"},
			[]string{"start: the start is 2026-03-03, which is later"}},
		{"every", "every day at 13:15", "2026-03-05T13:15:00+01:00", trigger.ParseOptions{Start: "2026-03-03", End: "2026-03-04 10:00"},
			[]string{"end: the end is 2026-03-04T10:00:00+01:00, which is earlier"}},
		{"every", "every 3 days at 09:00", "2026-03-06T09:00:00+01:00", trigger.ParseOptions{},
			[]string{"date: the date is 2026-03-06, which is none of the chain; the one before is 2026-03-04; the next is 2026-03-07"}},
		{"every", "every 3 days at 09:00", "2026-03-01T09:00:00+01:00", trigger.ParseOptions{},
			[]string{"anchor: it counts from 2026-03-01T13:00:00+01:00, and fires after that"}},
		{"every", "every hour at :15:30", "2026-03-06T09:14:30+01:00", trigger.ParseOptions{}, []string{"minute: the minute is 14, and it asks for 15"}},
		{"every", "every minute at :30", "2026-03-06T09:14:29+01:00", trigger.ParseOptions{}, []string{"second: the second is 29, and it asks for 30"}},
		{"every", "every day at 02:30", "2026-03-29T03:00:00+02:00", trigger.ParseOptions{}, nil},
		{"every", "every day at 02:30", "2026-03-29T03:00:00+02:00", trigger.ParseOptions{Gap: "skip"},
			[]string{"time: the time is 03:00, and it asks for 02:30", "gap: a clock change leaves out a time that it asks for, which would fire here if gap were run_after, and gap is skip"}},
		{"every", "every day at 02:30", "2026-10-25T02:30:00+01:00", trigger.ParseOptions{}, []string{"fold: a clock change brings 02:30:00 twice, this is the second time, and fold is auto"}},
		{"every", "every day at 02:30", "2026-10-25T02:30:00+02:00", trigger.ParseOptions{Fold: "second"}, []string{"fold: a clock change brings 02:30:00 twice, this is the first time, and fold is second"}},
		{"every", "every day at 02:30", "2026-03-29T03:30:00+02:00", trigger.ParseOptions{},
			[]string{"time: the time is 03:30, and it asks for 02:30", "gap: a clock change leaves out a time that it asks for, which would fire here if gap were shift, and gap is run_after"}},
		{"every", "in 5 minutes", "2026-10-25T02:30:00+01:00", trigger.ParseOptions{}, []string{"date: it fires once, at 2026-03-01T13:05:00+01:00"}},
		{"every", "every 5 to 10 minutes", "2026-03-01T13:10:00+01:00", trigger.ParseOptions{},
			[]string{"interval: its times are 300 to 600 seconds apart, at random; the one before is 2026-03-01T13:07:51.51145+01:00, the next is 2026-03-01T13:16:17.246512+01:00"}},
		{"every", "every 5 to 10 minutes", "2026-03-01T12:59:00+01:00", trigger.ParseOptions{}, []string{"anchor: it counts from 2026-03-01T13:00:00+01:00, and fires after that"}},
		{"calendar", "months=1 hour=9 start_date=2026-01-31", "2026-03-31T09:00:00+02:00", trigger.ParseOptions{}, nil},
		{"calendar", "months=1 hour=9 start_date=2026-01-31", "2026-02-28T10:01:02+01:00", trigger.ParseOptions{},
			[]string{"date: the date is 2026-02-28, which is none of the chain; the one before is 2026-01-31; the next is 2026-03-31", "hour: the hour is 10, and it asks for 9", "minute: the minute is 1, and it asks for 0", "second: the second is 2, and it asks for 0"}},
		{"calendar", "months=1 hour=9 start_date=2026-01-31", "2026-01-30T09:00:00+01:00", trigger.ParseOptions{},
			[]string{"start: the start is 2026-01-31, which is later", "date: the date is 2026-01-30, which is none of the chain; the next is 2026-01-31"}},
	} {
		trig, err := trigger.Parse(c.kind, c.text, c.o)
		if err == nil {
			trig, err = trig.(ruqi.Binder).Bind(zone(t, "Europe/Berlin"), instant(t, "2026-03-01T12:00:00Z"), "job")
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		at := instant(t, c.at)
		var got []string
		for _, r := range trig.(ruqi.Explainer).Explain(at, ruqi.English) {
			got = append(got, r.Part+": "+r.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q at %s:\n got %q\nwant %q", c.kind, c.text, c.at, got, c.want)
		}
		if fires := trig.(ruqi.Matcher).Matches(at); fires != (len(c.want) == 0) {
			t.Errorf("%s %q at %s: Matches says %v", c.kind, c.text, c.at, fires)
		}
	}
	for _, e := range []ruqi.Explainer{trigger.Every(1).Hours(), trigger.Every(0).Hours(), trigger.Every(3).Days().At("10:00"), trigger.Every(1).To(2).Hours()} {
		if got := e.Explain(time.Unix(0, 0), ruqi.English); len(got) != 1 {
			t.Errorf("%v, which cannot fire, says %v", e, got)
		}
	}
}
