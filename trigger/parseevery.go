package trigger

import (
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// parseEvery reads words as a user types them, and gives the plainest trigger that says it.
func parseEvery(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if strings.Contains(text, "=") && o.Gap+o.Fold == "" {
		t, err := parseInterval(text, loc, o) // hours=1 start_date=2026-01-01
		if err != nil {
			if said := inFields(text); said != nil {
				return nil, ruqi.Invalid("/text", text, "every: %v", said)
			}
		}
		return t, err
	}
	t, err := Words(text, EveryOptions{Zone: loc, StartText: o.Start, EndText: o.End, Gap: Gap(o.Gap), Fold: Fold(o.Fold)})
	if err != nil {
		return nil, err
	}
	switch t.saying.form {
	case formInterval:
		// Start and end stay as they were written, and await their zone where they need one.
		return t.unbound(), nil
	case formAt:
		return DateText(t.saying.at.canonical(), loc)
	case formIn:
		if o.Now.IsZero() && t.saying.length == 0 {
			return nil, ruqi.Invalid("/text", text, "every: %q depends on the moment it is asked; give a date", clip(strings.TrimSpace(text)))
		}
		if !o.Now.IsZero() {
			at, ok := fromTime(o.Now)
			if at += t.saying.length; !ok || at > latest*microsecond {
				return nil, ruqi.Invalid("/text", text, "every: "+outOfRange)
			}
			return &DateTrigger{at: at, zone: t.zone}, nil
		}
	}
	return t, nil
}

// unbound returns the interval trigger of words that name a length, before it is bound.
func (t *EveryTrigger) unbound() *IntervalTrigger {
	i := &IntervalTrigger{every: t.saying.length, anchor: none, start: t.term.start.micros, end: t.term.end.micros, zone: t.zone}
	if t.zone == nil {
		var w written
		if t.term.start.kind == edgeWall {
			w.start = &t.term.start.moment
		}
		if t.term.end.kind == edgeWall {
			w.end = &t.term.end.moment
		}
		if w.start != nil || w.end != nil {
			i.open = &open{written: &w}
		}
	}
	return i
}

// inFields says of a text with = that it is a cron expression; nil for others.
func inFields(text string) *wordError {
	if len(text) <= longestText && len(words(text)) <= mostWords {
		if other := foreign(text); other != nil {
			return other
		}
	}
	for _, dialect := range []string{"fields", cronexpr.Crontab} {
		if _, err := cronexpr.Parse(cronexpr.Lookup(dialect), text); err == nil {
			wanted := "these are no words: that is a kind cron, " + strings.TrimSpace(text)
			if dialect == "fields" {
				wanted = "this is no length of time, but an expression of the dialect fields: that is a kind cron, " + strings.TrimSpace(text)
			}
			return &wordError{column: 1, wanted: wanted, complete: true}
		}
	}
	return nil
}
