package ruqi

import "time"

// A Trigger says when a job fires: a pure, immutable value without a clock and
// without state. The same question always has the same answer, so a trigger may
// be asked by many goroutines at once and again after a crash.
//
// An implementation proves its laws with trigger/triggertest.
type Trigger interface {
	// Next returns the first fire time strictly after the instant after, in the
	// trigger's own zone (UTC if it has none). Each answer is strictly later in
	// UTC than the question. ok is false when no fire time is left; that answer,
	// too, is found in bounded time (cron triggers look 400 years ahead). Next
	// neither blocks nor allocates in proportion to the distance.
	Next(after time.Time) (t time.Time, ok bool)

	// Kind returns the name under which the Registry decodes the trigger:
	// "cron", "interval", "date".
	Kind() string

	// MarshalJSON returns the canonical encoding: one JSON object with a member
	// "kind", every option written out, the zone and the anchor once bound.
	// Equal encodings mean equal triggers, whatever the types.
	MarshalJSON() ([]byte, error)
}

// A Starter is a Trigger that may stand for the start of an instance and not for any time, as @reboot does in a crontab. Next has no time then,
// and only a job with Policy.RunOnStart may have it.
type Starter interface {
	Trigger

	// OnStart reports whether it does.
	OnStart() bool
}

// A Binder is a Trigger that can fill in what its user left open. A job's
// trigger is bound once, when the job is added; the bound form is what is stored.
type Binder interface {
	Trigger

	// Bind returns the trigger with everything filled in that was not given: the
	// zone, the anchor of an interval, the seed of a hash. What was given stays.
	// zone is never nil; anchor has microseconds. The error is an *InvalidError
	// when the filled-in trigger cannot exist, for example a wall time
	// that the zone skips.
	Bind(zone *time.Location, anchor time.Time, seed string) (Trigger, error)
}

// A Bound is a Trigger that remembers its zone and its anchor. When a job is
// replaced or modified the new trigger is bound with the stored one's, so that an equal
// definition is an equal trigger and an interval does not start anew.
type Bound interface {
	Trigger

	// Binding returns the zone and the anchor the trigger was bound with: nil
	// and the zero time where it has none.
	Binding() (zone *time.Location, anchor time.Time)
}

// A Stepper is a Trigger that can look back and count. Catching up after an
// outage uses it to name the newest fires and to count the older ones; without it
// the engine walks Next for at most 100,000 steps and then says "at least".
type Stepper interface {
	Trigger

	// Prev returns the last fire time strictly before the instant before.
	Prev(before time.Time) (t time.Time, ok bool)

	// Count returns how many fire times lie in (after, until]. It is exact, or
	// negative when the trigger cannot count that range in bounded time.
	Count(after, until time.Time) int64
}

// An Ender is a Trigger with an inclusive end: no fire, jitter included, is later.
type Ender interface {
	Trigger

	// EndTime returns the end, if there is one.
	EndTime() (end time.Time, ok bool)
}

// An Elapser is a Trigger that counts elapsed time, not the time of day. When the
// clock is set back it goes on from the new time, since what was elapsed stays so.
type Elapser interface {
	Trigger

	// Reanchor returns the trigger as if it had been bound at the anchor: its first fire is one
	// period later. ok is false when its user has fixed the start.
	Reanchor(anchor time.Time) (t Trigger, ok bool)
}

// A Searcher is a Trigger whose search for the next fire time may end before it is known whether there is one, as that for the
// instants which several triggers have in common may. Next says no then, too; the engine asks Search, so that no job
// ends for want of patience: it looks again when the time comes.
type Searcher interface {
	Trigger

	// Search returns the first fire time strictly after the instant after, if it finds one in some tens of milliseconds. If not, and until is
	// not zero, there is none in (after, until], and whether there is one later is not known; until is later than after. If both
	// are zero, no fire time is left.
	Search(after time.Time) (t, until time.Time, ok bool)
}

// A Matcher is a Trigger that can say at once whether an instant is one of its fire times.
type Matcher interface {
	Trigger

	// Matches reports whether the trigger fires at exactly this instant: whether Next, asked just before it, gives it.
	Matches(at time.Time) bool
}

// A Language is one in which triggers are described: an IETF tag.
type Language string

// The languages of this module's triggers.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// A Describer is a Trigger that can say in words when it fires.
type Describer interface {
	Trigger

	// Describe returns a phrase without a full stop, English for a language it does not know: "at 02:30 on Monday to
	// Friday, Europe/Berlin time". It names the zone, start and end, what a clock change does where that matters, and what is
	// left out.
	Describe(in Language) string
}

// A Ruling is one reason why a trigger does not fire at an instant.
type Ruling struct {
	// Part is what rules it out: a field such as "minute" or "day_of_week", "start", "end", "gap", "fold", "anchor", or
	// the path of a part and its own, such as "not/0/day_of_week".
	Part string
	// Message says what the part asks for, and what it is at that instant, in one line.
	Message string
}

// An Explainer is a Trigger that can say why it does not fire.
type Explainer interface {
	Trigger

	// Explain returns what rules the instant out, every reason there is; nothing when the trigger fires then. The messages are
	// English for a language that it does not know; parts are the same in all.
	Explain(at time.Time, in Language) []Ruling
}
