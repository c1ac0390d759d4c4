package trigger_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestRulingsAreToldInChinese(t *testing.T) {
	berlin, tokyo := trigger.ParseOptions{Zone: "Europe/Berlin"}, trigger.ParseOptions{Zone: "Asia/Tokyo"}
	within := trigger.ParseOptions{Zone: "UTC", Start: "2026-03-01", End: "2026-04-01"}
	for _, c := range []struct {
		kind, text string
		o          trigger.ParseOptions
		at, want   string
	}{
		{"cron", "30 2 * * mon-fri", tokyo, "2026-11-30T02:30:00+09:00", ""},
		{"cron", "30 2 * * mon-fri", tokyo, "2026-11-29T02:30:00+09:00", "day_of_week: 星期为 sun，而表达式要求 mon-fri"},
		{"cron", "0 0 13 * fri", tokyo, "2026-12-14T00:00:00+09:00",
			"day: 日为 14，而表达式要求 13，或者星期为 fri | day_of_week: 星期为 mon，而表达式要求 fri，或者日为 13"},
		{"cron", "0 0 * * *", within, "2026-02-01T00:00:00Z", "start: 开始时间为 2026-03-01T00:00:00Z，比此刻晚"},
		{"cron", "0 0 * * *", within, "2026-05-01T00:00:00Z", "end: 结束时间为 2026-04-01T00:00:00Z，比此刻早"},
		{"cron", "30 2 * * *", berlin, "2026-03-29T03:30:00+02:00",
			"hour: 时为 3，而表达式要求 2 | gap: 时钟变更跳过了表达式的一个时刻；若 gap 为 shift，它会在此刻触发，而 gap 为 run_after"},
		{"cron", "30 2 * * *", berlin, "2026-10-25T02:30:00+01:00", "fold: 时钟变更使 02:30:00 出现两次，此刻是第二次，而 fold 为 auto"},
		{"cron", "@reboot", tokyo, "2026-10-25T02:30:00+01:00", "expr: @reboot 表示实例启动时，不对应任何时刻"},
		{"date", "2026-12-01 09:00", tokyo, "2026-12-02T00:00:00Z", "at: 它只触发一次，在 2026-12-01T09:00:00+09:00"},
		{"every", "monday at 13:15", berlin, "2026-12-01T13:00:00+01:00", "day_of_week: 这一天是周二，而它要求周一 | time: 时间为 13:00，而它要求 13:15"},
	} {
		if got := rulings(trigger.Explain(parsed(t, c.kind, c.text, c.o), instant(t, c.at), ruqi.Chinese)); got != c.want {
			t.Errorf("%s %q at %s:\n got %s\nwant %s", c.kind, c.text, c.at, got, c.want)
		}
	}
	weekend := daysOf(t, `{"weekdays":["sat","sun"]}`)
	cron := parsed(t, "cron", "0 9 * * *", tokyo)
	for _, c := range []struct {
		of       ruqi.Trigger
		at, want string
	}{
		{trigger.Except(cron, trigger.Days(weekend)), "2026-11-29T09:00:00+09:00", "not/0: 2026-11-29（周日）被排除，它在以下日期中：周六和周日"},
		{trigger.Only(cron, trigger.Days(weekend)), "2026-11-30T09:00:00+09:00", "in/0: 2026-11-30（周一）不在以下日期中：周六和周日"},
		{trigger.Except(cron, trigger.Times(cron)), "2026-11-30T09:00:00+09:00", "not/0: 此触发器的时刻被排除，而它在此刻触发：在每天的 09:00，Asia/Tokyo 时间"},
		{hourly{}, "2026-06-01T00:10:00Z", "hourly: 不是触发时刻；前后的触发时刻是 2026-06-01T00:00:00Z 和 2026-06-01T01:00:00Z"},
	} {
		if got := rulings(trigger.Explain(c.of, instant(t, c.at), ruqi.Chinese)); got != c.want {
			t.Errorf("%v at %s:\n got %s\nwant %s", c.of, c.at, got, c.want)
		}
	}
}

// TestNoRulingIsHalfTranslated: what stands in a Chinese ruling beside values and names of members is Chinese, and none of it is in an
// English one.
func TestNoRulingIsHalfTranslated(t *testing.T) {
	o := trigger.ParseOptions{Zone: "Europe/Berlin", Start: "2026-03-01", End: "2026-12-01"}
	for kind, texts := range map[string][]string{
		"cron":     {"30 2 * * mon-fri", "H H * * *", "0 0 1 1 *"},
		"interval": {"90m"},
		"every":    {"weekday at 02:30", "3 days at 02:30", "minute at :30", "hour at :15"},
	} {
		for _, text := range texts {
			read, err := trigger.Parse(kind, text, o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := read.(ruqi.Binder).Bind(time.UTC, instant(t, "2026-01-01T00:00:00Z"), "x")
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{"2026-01-01T00:00:01Z", "2026-03-29T01:30:00Z", "2026-10-25T01:30:00Z", "2026-06-01T12:00:00.5Z", "2027-01-01T00:00:00Z"} {
				english, chinese := trigger.Explain(b, instant(t, at), ruqi.English), trigger.Explain(b, instant(t, at), ruqi.Chinese)
				if len(english) != len(chinese) {
					t.Fatalf("%v at %s: %v, %v", b, at, english, chinese)
				}
				for i := range english {
					if isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }; strings.ContainsFunc(english[i].Message, isHan) || !strings.ContainsFunc(chinese[i].Message, isHan) {
						t.Errorf("%v at %s: %q, %q", b, at, english[i].Message, chinese[i].Message)
					}
				}
			}
		}
	}
}

// What is too early or too late for any trigger is not said to fire, nor explained by the clock of another instant.
func TestWhatIsOutOfRangeDoesNotFire(t *testing.T) {
	weekend := trigger.Days(daysOf(t, weekendJSON))
	for kind, text := range map[string]string{
		"cron": "* * * * * *", "interval": "1s", "calendar": "days=1", "every": "every day at 09:00", "any": `{"kind":"any","of":[{"kind":"cron","expr":"* * * * * *"}]}`,
	} {
		read, err := trigger.Parse(kind, text, trigger.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		one, err := read.(ruqi.Binder).Bind(time.UTC, instant(t, "2026-01-01T00:00:00Z"), "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, trig := range []ruqi.Trigger{one, trigger.Except(one, weekend), trigger.Except(one, weekend).Else(trigger.ElseNext)} {
			for _, at := range []string{"0001-01-01T09:00:00Z", "9999-12-31T09:00:00Z", "9999-12-31T23:59:59.5Z"} {
				got := trigger.Explain(trig, instant(t, at), ruqi.English)
				if len(got) == 0 || !strings.HasPrefix(got[0].Message, "it is out of range: triggers fire from 0001-01-02 to 9999-12-30") || trigger.Matches(trig, instant(t, at)) {
					t.Errorf("%v at %s: %v", trig, at, got)
				}
			}
		}
	}
}
