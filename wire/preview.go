package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/lookback"
)

// How many times a preview has.
const (
	DefaultPreview = 5            // times; a week of working days
	MaxPreview     = ruqi.MaxPage // times; as many as a page has rows
)

// PreviewSeed stands for the id of a job in a preview: it decides what H stands for.
const PreviewSeed = "preview"

// A PreviewRequest asks what a trigger means.
type PreviewRequest struct {
	Trigger  json.RawMessage `json:"trigger" doc:"The trigger, as in a job."`
	From     *time.Time      `json:"from,omitempty" doc:"Times strictly after it, and previous ones strictly before it. Default: now."`
	Until    *time.Time      `json:"until,omitempty" doc:"No times after it; it is inclusive. Default: no bound."`
	N        int             `json:"n,omitempty" minimum:"1" maximum:"1000" doc:"How many; default 5."`
	Previous int             `json:"previous,omitempty" minimum:"0" maximum:"1000" doc:"How many times before; default none."`
	At       *time.Time      `json:"at,omitempty" doc:"An instant of which to explain why the trigger fires then, or why not."`
}

// A Preview is what a trigger means.
type Preview struct {
	Trigger     json.RawMessage `json:"trigger" doc:"The trigger with everything filled in that was left open."`
	Description Description     `json:"description" doc:"When it fires, in words."`
	Times       []time.Time     `json:"times" nullable:"false" doc:"In the trigger's zone; fewer than asked for when no more exist."`
	Previous    []time.Time     `json:"previous,omitzero" doc:"The times before, the latest first; only where asked for."`
	Explanation *Explanation    `json:"explanation,omitempty" doc:"Only where an instant was given."`
	Warnings    []string        `json:"warnings" nullable:"false"`
}

// A Description is a phrase without a full stop in each language there is.
type Description struct {
	English string `json:"en"`
	Chinese string `json:"zh"`
}

// An Explanation says of one instant whether a trigger fires then.
type Explanation struct {
	At      time.Time  `json:"at" doc:"In the trigger's zone."`
	Fires   bool       `json:"fires"`
	Reasons []Reason   `json:"reasons" nullable:"false" doc:"What rules the instant out, every reason there is; empty when the trigger fires then."`
	Before  *time.Time `json:"before" nullable:"true" doc:"The last fire time before it, if any was found."`
	After   *time.Time `json:"after" nullable:"true" doc:"The first fire time after it, if any."`
	// SearchedTo is set where the search for After was given up.
	SearchedTo *time.Time `json:"searched_to,omitempty" doc:"Where the search for the first fire time after it was given up: there is none until then; whether there is a later one is not known."`
	// BeforeGivenUp is set where the search for Before was given up: there may be one. A preview has a warning for it.
	BeforeGivenUp bool `json:"-"`
}

// A Reason is one thing that rules an instant out.
type Reason struct {
	Part    string `json:"part" doc:"A field such as minute or day_of_week, or start, end, gap, fold, anchor, …; of a part of the trigger, its path before it."`
	Message string `json:"message" doc:"What the part asks for and what it is at that instant, in English."`
	Chinese string `json:"message_zh" doc:"The same in Chinese."`
}

// A PreviewQuestion is a PreviewRequest that was read, without the trigger.
type PreviewQuestion struct {
	From        time.Time
	Until, At   *time.Time // nil: not asked
	N, Previous int
	// Why asks for a warning that says why there is no time, where there is none.
	Why bool
}

// NewPreview says what a trigger means. One that has no zone lives in the zone given. It ends early, with what there is,
// when the context does.
func NewPreview(ctx context.Context, trigger ruqi.Trigger, zone *time.Location, ask PreviewQuestion) (Preview, error) {
	if binder, ok := trigger.(ruqi.Binder); ok {
		var err error
		if trigger, err = binder.Bind(zone, ask.From.Truncate(time.Microsecond), PreviewSeed); err != nil {
			return Preview{}, err
		}
	}
	canonical, err := trigger.MarshalJSON()
	if err != nil {
		return Preview{}, err
	}
	shape := Preview{Trigger: canonical, Description: Describe(trigger), Times: []time.Time{}, Warnings: []string{}}
	if starter, ok := trigger.(ruqi.Starter); ok && starter.OnStart() {
		shape.Warnings = append(shape.Warnings, fmt.Sprintf("%v never fires by the clock: with policy.run_on_start a job runs each time an instance starts", trigger))
	}
	zone = Zone(trigger)
	for at := ask.From; len(shape.Times) < ask.N && ctx.Err() == nil; {
		next, until, ok := ruqi.SearchNext(trigger, at)
		if !ok {
			if !until.IsZero() && (ask.Until == nil || until.Before(*ask.Until)) {
				shape.Warnings = append(shape.Warnings, fmt.Sprintf("no fire time was found from %s to %s, where the search was given up; there may be later ones", FormatTime(at.Truncate(time.Second), zone), FormatTime(until.Truncate(time.Second), zone)))
			}
			break
		}
		if ask.Until != nil && next.After(*ask.Until) {
			break
		}
		shape.Times = append(shape.Times, In(next, zone))
		at = next
	}
	if ask.Previous > 0 {
		shape.Previous = []time.Time{}
	}
	if ask.Why && ask.N > 0 && len(shape.Times) == 0 && len(shape.Warnings) == 0 && ctx.Err() == nil {
		shape.Warnings = append(shape.Warnings, WhyNone(trigger, ask.From, ask.Until, false))
	}
	for at := ask.From; len(shape.Previous) < ask.Previous && ctx.Err() == nil; {
		before, ok := ruqi.Prev(trigger, at)
		if !ok {
			if lookback.GaveUp(trigger, at) {
				shape.Warnings = append(shape.Warnings, NoneFoundBefore(In(at, zone)))
			}
			break
		}
		shape.Previous = append(shape.Previous, In(before, zone))
		at = before
	}
	if ask.At != nil {
		explanation := Explain(trigger, *ask.At)
		shape.Explanation = &explanation
		if warning := NoneFoundBefore(explanation.At); explanation.BeforeGivenUp && !slices.Contains(shape.Warnings, warning) {
			shape.Warnings = append(shape.Warnings, warning)
		}
	}
	return shape, nil
}

// NoneFoundBefore is the warning where the search for the last fire time before an instant was given up.
func NoneFoundBefore(at time.Time) string {
	return fmt.Sprintf("no fire time was found before %s; the search was given up, and there may be earlier ones", FormatTime(at.Truncate(time.Second), at.Location()))
}

// Describe says when a trigger fires, in each language there is.
func Describe(trigger ruqi.Trigger) Description {
	return Description{ruqi.Describe(trigger, ruqi.English), ruqi.Describe(trigger, ruqi.Chinese)}
}

// Explain says whether a trigger fires at an instant, and why not.
func Explain(trigger ruqi.Trigger, at time.Time) Explanation {
	zone := Zone(trigger)
	shape := Explanation{At: In(at, zone), Reasons: []Reason{}}
	chinese := ruqi.Explain(trigger, at, ruqi.Chinese)
	for i, r := range ruqi.Explain(trigger, at, ruqi.English) {
		reason := Reason{Part: r.Part, Message: r.Message, Chinese: r.Message}
		if i < len(chinese) {
			reason.Chinese = chinese[i].Message
		}
		shape.Reasons = append(shape.Reasons, reason)
	}
	shape.Fires = len(shape.Reasons) == 0
	if before, ok := ruqi.Prev(trigger, at); ok {
		shape.Before = inZone(&before, zone)
	} else {
		shape.BeforeGivenUp = lookback.GaveUp(trigger, at)
	}
	switch after, until, ok := ruqi.SearchNext(trigger, at); {
	case ok:
		shape.After = inZone(&after, zone)
	case !until.IsZero():
		shape.SearchedTo = inZone(&until, zone)
	}
	return shape
}

// WhyNone says why a trigger has no fire time after from; until is the last instant that was asked for, nil where there was no such
// bound. With previous it says why there is none before from, and until is the earliest instant. The trigger is bound.
func WhyNone(trigger ruqi.Trigger, from time.Time, until *time.Time, previous bool) string {
	zone := Zone(trigger)
	shown := func(at time.Time) string { return FormatTime(at, zone) }
	asked := func(at time.Time) string { return shown(at.Truncate(time.Second)) } // now has a fraction that nobody gave
	start, edge := from, from.Add(1)                                              // those asked for do not include one at from
	if previous {
		start, edge = from.Add(-1), from
	}
	before, was := ruqi.Prev(trigger, edge)
	gaveUp := !was && lookback.GaveUp(trigger, edge)
	after, searched, will := ruqi.SearchNext(trigger, start)
	var end time.Time
	if ender, ok := trigger.(ruqi.Ender); ok {
		if at, ends := ender.EndTime(); ends {
			end = at
		}
	}
	switch {
	case previous && was && until != nil:
		return fmt.Sprintf("no fire time from %s to %s: the last one before is %s", asked(*until), asked(from), shown(before))
	case previous && gaveUp:
		return NoneFoundBefore(In(from, zone))
	case previous && will:
		return fmt.Sprintf("no fire time before %s: the first one is %s", asked(from), shown(after))
	case will && until != nil:
		return fmt.Sprintf("no fire time after %s until %s: the next one is %s", asked(from), asked(*until), shown(after))
	case !searched.IsZero():
		return fmt.Sprintf("no fire time was found from %s to %s, where the search was given up; there may be later ones", asked(from), asked(searched))
	case was && !end.IsZero() && !end.After(from):
		return fmt.Sprintf("it has ended: its end is %s, and its last fire time was %s", shown(end), shown(before))
	case was && !end.IsZero():
		return fmt.Sprintf("no fire time after %s: its end is %s, and its last fire time was %s", asked(from), shown(end), shown(before))
	case was:
		return fmt.Sprintf("it has ended: its last fire time was %s", shown(before))
	case gaveUp && !end.IsZero():
		return fmt.Sprintf("no fire time after %s: its end is %s", asked(from), shown(end))
	case gaveUp:
		return fmt.Sprintf("no fire time after %s", asked(from))
	case !end.IsZero():
		return fmt.Sprintf("it never fires: its end is %s, and it has no fire time until then", shown(end))
	}
	return "it never fires"
}
