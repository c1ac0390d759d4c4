package trigger_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// hashedFields are the fields whose H is told with its step, in an expression whose other fields leave them free.
var hashedFields = []struct {
	unit, chinese, length string
	low, high             int // the values that H has without a range
	expr                  string
	of                    func(time.Time) int
	span                  time.Duration // every value comes within it
}{
	{"second", "秒", "秒", 0, 59, "%s 0 0 * * *", time.Time.Second, 24 * time.Hour},
	{"minute", "分", "分钟", 0, 59, "%s 3 * * *", time.Time.Minute, 24 * time.Hour},
	{"minute", "分", "分钟", 0, 59, "%s * * * *", time.Time.Minute, 24 * time.Hour},
	{"hour", "点", "小时", 0, 23, "0 %s * * *", time.Time.Hour, 24 * time.Hour},
	{"day", "日", "天", 1, 28, "0 0 %s * *", time.Time.Day, 31 * 24 * time.Hour},
	{"month", "", "", 1, 12, "0 0 1 %s *", func(at time.Time) int { return int(at.Month()) }, 365 * 24 * time.Hour},
	{"day of the week", "", "", 0, 6, "0 0 * * %s", func(at time.Time) int { return int(at.Weekday()) }, 7 * 24 * time.Hour},
}

// TestWhatIsSaidOfHIsTrueForEveryId holds what is said without an id against the fires of many: the first value is one of the first n, and
// every n-th after it is one too, up to the highest.
func TestWhatIsSaidOfHIsTrueForEveryId(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, f := range hashedFields {
		for _, within := range [][2]int{{f.low, f.high}, {f.low + 1, f.high}, {f.low, f.low + 5}, {f.low + 2, f.low + 2}} {
			for step := range f.high + 12 {
				text, whole := "H", within == [2]int{f.low, f.high}
				if !whole {
					text = fmt.Sprintf("H(%d-%d)", within[0], within[1])
				}
				if step > 0 {
					text += "/" + strconv.Itoa(step)
				}
				size := within[1] - within[0] + 1
				expr := fmt.Sprintf(f.expr, text)
				firsts := size // how many values the first may have
				if step > 0 && step < size {
					firsts = step
				}
				seen := map[int]bool{}
				for id := range 12 {
					trig := cronOf(t, expr, "job"+strconv.Itoa(id))
					values := map[int]bool{}
					fires, _ := trigger.Between(trig, begin.Add(-1), begin.Add(f.span-1), 100_000)
					first := f.high + 1
					for _, at := range fires {
						values[f.of(at)] = true
						first = min(first, f.of(at))
					}
					want := map[int]bool{}
					for v := first; v <= within[1]; v += max(step, 1) {
						if want[v] = true; step == 0 {
							break
						}
					}
					if first < within[0] || first >= within[0]+firsts || fmt.Sprint(want) != fmt.Sprint(values) {
						t.Fatalf("%s, job%d: fires at the %ss %v", expr, id, f.unit, values)
					}
					seen[first] = true
				}
				if len(seen) == 1 && firsts > 2 {
					t.Errorf("%s: the id does not matter", expr)
				}
				trig := cronOf(t, expr, "")
				en, zh := trigger.Describe(trig, ruqi.English), trigger.Describe(trig, ruqi.Chinese)
				hangs := strings.Contains(en, "set by the job's id")
				if hangs != strings.Contains(zh, "由任务 id 选定") || hangs != (firsts > 1) {
					t.Errorf("%s: got %s\n%s\n%d values may be the first", expr, en, zh, firsts)
				}
				if f.chinese == "" || firsts == 1 {
					continue // the text of H itself, or no H
				}
				english, chinese := saidOfHash(f.unit, f.chinese, f.length, within, step, firsts, whole)
				if f.unit != "day" && firsts < size && size%step == 0 {
					// As many in every hour and on every day, whatever the first is.
					english, chinese = fmt.Sprintf("every %s %s with the first set by", ordinalOf(step), f.unit), fmt.Sprintf("每 %d %s（起点由任务 id 选定", step, f.length)
					switch {
					case !whole:
						english = strings.Replace(english, " with", fmt.Sprintf(" from %d to %d with", within[0], within[1]), 1)
						chinese += fmt.Sprintf("，在 %d 至 %d 之间", within[0], within[1])
					case f.expr == "%s * * * *":
						english, chinese = fmt.Sprintf("every %d minutes, beginning at a minute set by", step), fmt.Sprintf("每 %d 分钟（起点由任务 id 选定", step)
					}
				}
				if single := strings.HasPrefix(f.expr, "%s 3"); single && firsts == size {
					english, chinese = fmt.Sprintf("at a time from 03:%02d to 03:%02d set by", within[0], within[1]), fmt.Sprintf("在 03:%02d 至 03:%02d 之间", within[0], within[1])
				}
				if !strings.Contains(en, english) || !strings.Contains(zh, chinese) {
					t.Errorf("%s: got %s\n%s\nwant %s, %s", expr, en, zh, english, chinese)
				}
			}
		}
	}
}

// saidOfHash is how a field is told whose H stays within its range.
func saidOfHash(unit, chineseUnit, length string, within [2]int, step, firsts int, whole bool) (english, chinese string) {
	day := unit == "day"
	name := strconv.Itoa
	if day {
		name = ordinalOf
	}
	english, chinese = "a "+unit, "某一"+length+"（由任务 id 选定"
	if unit == "hour" {
		english = "an hour"
	}
	if !whole || firsts < within[1]-within[0]+1 {
		english += fmt.Sprintf(" from %s to %s", name(within[0]), name(within[0]+firsts-1))
		chinese += fmt.Sprintf("，在 %d 至 %d 之间", within[0], within[0]+firsts-1)
	}
	if day {
		english = strings.NewReplacer("from ", "from the ", "to ", "to the ").Replace(english) + " of the month"
		chinese = strings.Replace(chinese, " 之间", " 日之间", 1)
	}
	english, chinese = english+" set by the job's id", chinese+"）"
	if firsts < within[1]-within[0]+1 {
		upTo, end := "up to "+name(within[1]), fmt.Sprintf("至第 %d %s", within[1], chineseUnit)
		if day {
			upTo, end = "up to the "+name(within[1]), fmt.Sprintf("至 %d 日", within[1])
		}
		english += fmt.Sprintf(" and every %s %s after it %s", ordinalOf(step), unit, upTo)
		chinese += fmt.Sprintf("及其后每 %d %s%s", step, length, end)
	}
	return english, chinese
}

func ordinalOf(n int) string {
	suffix := "th"
	if n/10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = []string{"st", "nd", "rd"}[n%10-1]
	}
	return strconv.Itoa(n) + suffix
}

func cronOf(t *testing.T, expr, seed string) ruqi.Trigger {
	t.Helper()
	trig, err := trigger.Parse("cron", expr, trigger.ParseOptions{Zone: "UTC", Seed: seed})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return trig
}
