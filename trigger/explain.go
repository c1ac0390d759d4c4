package trigger

import (
	"fmt"
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
func (t *CronTrigger) Explain(at time.Time) []ruqi.Ruling {
	switch {
	case t.fault != nil:
		return []ruqi.Ruling{{Part: "expr", Message: t.fault.Error()}}
	case t.OnStart():
		return []ruqi.Ruling{{Part: "expr", Message: t.expr.Text() + " stands for the start of an instance, and for no time"}}
	case Matches(t, at):
		return nil
	}
	z := t.walker().zone
	rulings := t.span.explain(at, z)
	if at.Nanosecond() != 0 {
		rulings = append(rulings, ruqi.Ruling{Part: "second", Message: "the instant has a fraction of a second, and cron fires at whole seconds"})
	}
	seconds := min(max(at.Unix(), earliest), latest)
	misses := t.expr.Misses(seconds + z.find(seconds).off)
	rulings = append(rulings, t.explainFields(misses)...)
	if changed, ok := t.explainChange(time.Unix(seconds, 0), len(misses) == 0); ok {
		rulings = append(rulings, changed)
	}
	return rulings
}

// fieldNames are what the fields are called in a sentence.
var fieldNames = map[string]string{
	"second": "second", "minute": "minute", "hour": "hour", "day": "day of the month", "month": "month",
	"day_of_week": "weekday", "week": "ISO week", "year": "year",
}

func (t *CronTrigger) explainFields(misses []cronexpr.Miss) []ruqi.Ruling {
	decided := map[string]string{}
	if t.expr.Hashed() {
		for _, f := range t.expr.Decided() {
			decided[f.Name] = f.Text
		}
	}
	asked := func(f cronexpr.FieldText) string {
		if text := decided[f.Name]; text != "" && text != f.Text {
			return fmt.Sprintf("%s, which is %s here", f.Text, text)
		}
		return f.Text
	}
	var rulings []ruqi.Ruling
	for i, miss := range misses {
		message := fmt.Sprintf("the %s is %s, and the expression asks for %s", fieldNames[miss.Name], miss.Is, asked(miss.FieldText))
		if t.expr.Either() && (miss.Name == "day" || miss.Name == "day_of_week") {
			for k, other := range misses {
				if k != i && (other.Name == "day" || other.Name == "day_of_week") {
					message += fmt.Sprintf(", or else for the %s %s", fieldNames[other.Name], asked(other.FieldText))
				}
			}
		}
		rulings = append(rulings, ruqi.Ruling{Part: miss.Name, Message: message})
	}
	return rulings
}

// explainChange says whether the rule for a clock change keeps the trigger from firing at a whole second: whether it would
// fire there under another one.
func (t *CronTrigger) explainChange(at time.Time, matched bool) (ruqi.Ruling, bool) {
	if t.zone == nil || Matches(t, at) {
		return ruqi.Ruling{}, false
	}
	other := *t
	if matched {
		other.rules = rulesOf(t.gap, FoldBoth, t.expr.Starred())
		if !Matches(&other, at) {
			return ruqi.Ruling{}, false
		}
		pass := "second"
		if t.rules.onlySecond {
			pass = "first"
		}
		wall := at.In(t.zone.loc).Format("15:04:05")
		return ruqi.Ruling{Part: "fold", Message: fmt.Sprintf("a clock change brings %s twice, this is the %s time, and fold is %s", wall, pass, t.fold)}, true
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
			return ruqi.Ruling{Part: "gap", Message: fmt.Sprintf(
				"a clock change leaves out a time of the expression, which would fire here if gap were %s, and gap is %s", gap, t.gap)}, true
		}
	}
	return ruqi.Ruling{}, false
}

// explain says whether an instant is outside the limits.
func (l limits) explain(at time.Time, z *zone) (rulings []ruqi.Ruling) {
	if l.start != none && clampMicros(at, false) < l.start {
		rulings = append(rulings, ruqi.Ruling{Part: "start", Message: "the start is " + formatMicros(l.start, z) + ", which is later"})
	}
	if l.end != none && clampMicros(at, true) > l.end {
		rulings = append(rulings, ruqi.Ruling{Part: "end", Message: "the end is " + formatMicros(l.end, z) + ", which is earlier"})
	}
	return rulings
}

// Matches implements ruqi.Matcher.
func (t *IntervalTrigger) Matches(at time.Time) bool { return lookback.Matches(t, at) }

// Explain implements ruqi.Explainer. Its parts are start, end, anchor, and every for an instant between two fire times.
func (t *IntervalTrigger) Explain(at time.Time) []ruqi.Ruling {
	if err := t.fault(); err != nil {
		return []ruqi.Ruling{{Part: "every", Message: err.Error()}}
	}
	first, ok := t.first()
	switch {
	case !ok:
		return []ruqi.Ruling{{Part: "anchor", Message: "it has no anchor to count from yet"}}
	case t.Matches(at):
		return nil
	}
	rulings := limits{start: t.start, end: t.end}.explain(at, t.zone)
	micros := clampMicros(at, false)
	switch {
	case micros < first && t.start == none:
		return append(rulings, ruqi.Ruling{Part: "anchor", Message: fmt.Sprintf("the first fire time is %s, one length after the anchor %s",
			formatMicros(first, t.zone), formatMicros(t.anchor, t.zone))})
	case micros < first:
		return rulings
	}
	late := (micros - first) % t.every
	if late == 0 && time.UnixMicro(micros).Equal(at) {
		return rulings
	}
	return append(rulings, ruqi.Ruling{Part: "every", Message: fmt.Sprintf("it is %s after %s, and the next is %s after that",
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
func (t *DateTrigger) Explain(at time.Time) []ruqi.Ruling {
	switch {
	case t.fault != nil:
		return []ruqi.Ruling{{Part: "at", Message: t.fault.Error()}}
	case t.Matches(at):
		return nil
	}
	return []ruqi.Ruling{{Part: "at", Message: "it fires once, at " + formatMicros(t.at, t.zone)}}
}
