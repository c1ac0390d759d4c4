package trigger

import (
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/lookback"
)

var (
	_ ruqi.Explainer = (*CronTrigger)(nil)
	_ ruqi.Explainer = (*IntervalTrigger)(nil)
	_ ruqi.Explainer = (*DateTrigger)(nil)
	_ ruqi.Matcher   = (*IntervalTrigger)(nil)
	_ ruqi.Matcher   = (*DateTrigger)(nil)
)

// Explain implements ruqi.Explainer. Its parts are the fields of the expression, start, end, gap and fold; expr for an
// expression that stands for no time.
func (t *CronTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	switch {
	case t.fault != nil:
		return []ruqi.Ruling{{Part: "expr", Message: t.fault.Error()}}
	case t.OnStart():
		return []ruqi.Ruling{{Part: "expr", Message: say(in, "%s stands for the start of an instance, and for no time", "%s 表示实例启动时，不对应任何时刻", t.expr.Text())}}
	case Matches(t, at):
		return nil
	}
	if l := beyond(at, in); l != nil {
		return l
	}
	z := t.walker().zone
	rulings := t.span.explain(at, z, in)
	if at.Nanosecond() != 0 {
		rulings = append(rulings, ruqi.Ruling{Part: "second", Message: say(in, "the instant has a fraction of a second, and cron fires at whole seconds", "此刻带有不足一秒的部分，而 cron 只在整秒触发")})
	}
	seconds := at.Unix()
	misses := t.expr.Misses(seconds + z.find(seconds).off)
	rulings = append(rulings, t.explainFields(misses, in)...)
	if changed, ok := t.explainChange(time.Unix(seconds, 0), len(misses) == 0, in); ok {
		rulings = append(rulings, changed)
	}
	return rulings
}

// beyond says of an instant that is too early or too late for any trigger that it is; nothing of others.
func beyond(at time.Time, in ruqi.Language) []ruqi.Ruling {
	if _, ok := fromTime(at); ok {
		return nil
	}
	return []ruqi.Ruling{{Part: "year", Message: say(in, "it is out of range: triggers fire from 0001-01-02 to 9999-12-30, UTC", "超出范围：触发器只在 UTC 时间 0001-01-02 至 9999-12-30 触发")}}
}

// fieldNames are what the fields are called in a sentence, in English and in Chinese.
var fieldNames = map[string][2]string{
	"second": {"second", "秒"}, "minute": {"minute", "分"}, "hour": {"hour", "时"}, "day": {"day of the month", "日"}, "month": {"month", "月"},
	"day_of_week": {"weekday", "星期"}, "week": {"ISO week", "ISO 周"}, "year": {"year", "年"},
}

func fieldName(name string, in ruqi.Language) string {
	return say(in, fieldNames[name][0], fieldNames[name][1])
}

func (t *CronTrigger) explainFields(misses []cronexpr.Miss, in ruqi.Language) []ruqi.Ruling {
	decided := map[string]string{}
	if t.expr.Hashed() {
		for _, f := range t.expr.Decided() {
			decided[f.Name] = f.Text
		}
	}
	asked := func(f cronexpr.FieldText) string {
		if text := decided[f.Name]; text != "" && text != f.Text {
			return say(in, "%s, which is %s here", "%s（此处为 %s）", f.Text, text)
		}
		return f.Text
	}
	var rulings []ruqi.Ruling
	for i, miss := range misses {
		message := say(in, "the %s is %s, and the expression asks for %s", "%s为 %s，而表达式要求 %s", fieldName(miss.Name, in), miss.Is, asked(miss.FieldText))
		if t.expr.Either() && (miss.Name == "day" || miss.Name == "day_of_week") {
			for k, other := range misses {
				if k != i && (other.Name == "day" || other.Name == "day_of_week") {
					message += say(in, ", or else for the %s %s", "，或者%s为 %s", fieldName(other.Name, in), asked(other.FieldText))
				}
			}
		}
		rulings = append(rulings, ruqi.Ruling{Part: miss.Name, Message: message})
	}
	return rulings
}

// explainChange says whether the rule for a clock change keeps the trigger from firing at a whole second: whether it would
// fire there under another one.
func (t *CronTrigger) explainChange(at time.Time, matched bool, in ruqi.Language) (ruqi.Ruling, bool) {
	if t.zone == nil || Matches(t, at) {
		return ruqi.Ruling{}, false
	}
	other := *t
	if matched {
		other.rules = rulesOf(t.gap, FoldBoth, t.expr.Starred())
		if !Matches(&other, at) {
			return ruqi.Ruling{}, false
		}
		return ruqi.Ruling{Part: "fold", Message: foldText(at.In(t.zone.loc), t.rules.onlySecond, t.fold, in)}, true
	}
	if t.expr.Starred() {
		return ruqi.Ruling{}, false
	}
	for _, gap := range []Gap{GapRunAfter, GapShift} {
		if gap == t.gap {
			continue
		}
		other.rules = rulesOf(gap, t.fold, false)
		if Matches(&other, at) {
			return ruqi.Ruling{Part: "gap", Message: say(in, "a clock change leaves out a time of the expression, which would fire here if gap were %s, and gap is %s",
				"时钟变更跳过了表达式的一个时刻；若 gap 为 %s，它会在此刻触发，而 gap 为 %s", gap, t.gap)}, true
		}
	}
	return ruqi.Ruling{}, false
}

// explain says whether an instant is outside the limits.
func (l limits) explain(at time.Time, z *zone, in ruqi.Language) (rulings []ruqi.Ruling) {
	if l.start != none && clampMicros(at, false) < l.start {
		rulings = append(rulings, ruqi.Ruling{Part: "start", Message: say(in, startLater, startLaterChinese, formatMicros(l.start, z))})
	}
	if l.end != none && clampMicros(at, true) > l.end {
		rulings = append(rulings, ruqi.Ruling{Part: "end", Message: say(in, endEarlier, endEarlierChinese, formatMicros(l.end, z))})
	}
	return rulings
}

// Matches implements ruqi.Matcher.
func (t *IntervalTrigger) Matches(at time.Time) bool { return lookback.Matches(t, at) }

// Explain implements ruqi.Explainer. Its parts are start, end, anchor, every for an instant between two fire times, and year for one out of range.
func (t *IntervalTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	if err := t.fault(); err != nil {
		return []ruqi.Ruling{{Part: "every", Message: err.Error()}}
	}
	first, ok := t.first()
	switch {
	case !ok:
		return []ruqi.Ruling{{Part: "anchor", Message: say(in, "it has no anchor to count from yet", "它还没有起计的时刻")}}
	case t.Matches(at):
		return nil
	}
	if l := beyond(at, in); l != nil {
		return l
	}
	rulings := limits{start: t.start, end: t.end}.explain(at, t.zone, in)
	micros := clampMicros(at, false)
	switch {
	case micros < first && t.start == none:
		return append(rulings, ruqi.Ruling{Part: "anchor", Message: say(in, "the first fire time is %s, one length after the anchor %s",
			"第一个触发时刻是 %s，在起计时刻 %s 之后一个间隔", formatMicros(first, t.zone), formatMicros(t.anchor, t.zone))})
	case micros < first:
		return rulings
	}
	late := (micros - first) % t.every
	if late == 0 && time.UnixMicro(micros).Equal(at) {
		return rulings
	}
	return append(rulings, ruqi.Ruling{Part: "every", Message: say(in, "it is %s after %s, and the next is %s after that", "此刻比触发时刻 %[2]s 晚 %[1]s，下一个在其后 %[3]s",
		durationText(time.Duration(late)*time.Microsecond+time.Duration(at.Nanosecond()%1000)), formatMicros(micros-late, t.zone), duration.Format(t.Every()))})
}

func durationText(d time.Duration) string {
	if d%time.Microsecond != 0 {
		return d.String()
	}
	return duration.Format(d)
}

// Matches implements ruqi.Matcher.
func (t *DateTrigger) Matches(at time.Time) bool { return t.fault == nil && t.At().Equal(at) }

// Explain implements ruqi.Explainer. Its one part is at.
func (t *DateTrigger) Explain(at time.Time, in ruqi.Language) []ruqi.Ruling {
	switch {
	case t.fault != nil:
		return []ruqi.Ruling{{Part: "at", Message: t.fault.Error()}}
	case t.Matches(at):
		return nil
	}
	return []ruqi.Ruling{{Part: "at", Message: say(in, "it fires once, at %s", "它只触发一次，在 %s", formatMicros(t.at, t.zone))}}
}
