package trigger

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/cronexpr"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

// Gap says what becomes of a fixed time of day that a clock change leaves out.
// Expressions whose hour, minute or second field begins with * have none.
type Gap string

// The empty Gap is GapRunAfter.
const (
	GapRunAfter Gap = "run_after" // at the first instant after the gap
	GapShift    Gap = "shift"     // later by the length of the gap
	GapSkip     Gap = "skip"      // not that day
)

// Fold says what becomes of a time of day that a clock change brings twice.
type Fold string

// The empty Fold is FoldAuto.
const (
	FoldAuto   Fold = "auto"   // fixed times the first time, fields that begin with * both times
	FoldFirst  Fold = "first"  // the first time only
	FoldBoth   Fold = "both"   // both times
	FoldSecond Fold = "second" // the second time only
)

// CronOptions tune a cron trigger. The zero value is ready for use.
type CronOptions struct {
	// Dialect is how the expression is read: "crontab", "ruqi", "fields" or
	// "quartz". Empty: crontab.
	Dialect string
	// Seed decides what each H of the expression stands for. Empty: the seed Bind is
	// given, which is the id of the job; until then the H of the empty seed. It has
	// no meaning for an expression without H.
	Seed string
	// Zone is where the wall clock hangs; it must have an IANA name. Nil: the zone
	// in front of the expression, else the one Bind is given. A zone in front of
	// the expression wins.
	Zone *time.Location
	// Start and End are the first and the last instant at which the trigger may
	// fire, inclusive. Nil: no bound. The fraction of a microsecond is cut.
	Start, End *time.Time
	// StartText and EndText are the same as text, such as "2026-03-01" (which
	// means 00:00) or "2026-03-01 10:00"; without an offset they are read in the
	// trigger's zone. Empty: not given. Not both a time and a text.
	StartText, EndText string
	// Gap and Fold are about clock changes. Empty: GapRunAfter, FoldAuto.
	Gap  Gap
	Fold Fold
}

// A CronTrigger fires at the times that a cron expression matches on the wall
// clock of a zone, whole seconds. It implements ruqi.Binder, ruqi.Bound,
// ruqi.Stepper, ruqi.Ender, ruqi.Matcher, ruqi.Describer, ruqi.Explainer and,
// for @reboot, ruqi.Starter.
type CronTrigger struct {
	expr  *cronexpr.Expr
	seed  string // of H; empty: none was given
	zone  *zone  // nil until bound
	span  limits
	gap   Gap
	fold  Fold
	rules rules
	fault error // what Cron returns at once and Crontab leaves for Bind to tell
}

var (
	_ ruqi.Binder  = (*CronTrigger)(nil)
	_ ruqi.Bound   = (*CronTrigger)(nil)
	_ ruqi.Stepper = (*CronTrigger)(nil)
	_ ruqi.Ender   = (*CronTrigger)(nil)
	_ ruqi.Starter = (*CronTrigger)(nil)
	_ ruqi.Matcher = (*CronTrigger)(nil)
)

// Cron returns a cron trigger, or an *ruqi.InvalidError with every fault; the
// pointers are those of the JSON form ("/expr", "/zone", "/start", …).
func Cron(expr string, o CronOptions) (*CronTrigger, error) {
	t := newCron(expr, o)
	if t.fault != nil {
		return nil, t.fault
	}
	return t, nil
}

// Crontab returns a cron trigger of the crontab dialect without options; a zone
// may stand in front: "TZ=Europe/Berlin 30 2 * * mon-fri". A wrong expression is
// told by Bind, that is when a job with it is added; until then it never fires.
func Crontab(expr string) *CronTrigger { return newCron(expr, CronOptions{}) }

func newCron(expr string, o CronOptions) *CronTrigger {
	t := &CronTrigger{gap: o.Gap, fold: o.Fold}
	var faults ruqi.Faults
	t.readExpr(expr, o.Dialect, o.Seed, &faults)
	if o.Zone != nil && t.zone == nil {
		var err error
		t.zone, err = zoneOf(o.Zone)
		faults.Merge("/zone", err)
	}
	t.readRules(&faults)
	if t.expr != nil {
		t.rules = rulesOf(t.gap, t.fold, t.expr.Starred())
	}
	t.span = readLimits(o.Start, o.StartText, o.End, o.EndText, t.zone, &faults)
	if t.OnStart() {
		if o.Start != nil || o.StartText != "" {
			faults.Add("/start", o.StartText, "%s stands for no time, and so has no start", t.expr.Text())
		}
		if o.End != nil || o.EndText != "" {
			faults.Add("/end", o.EndText, "%s stands for no time, and so has no end", t.expr.Text())
		}
	}
	t.fault = faults.Err()
	return t
}

func (t *CronTrigger) readExpr(expr, dialect, seed string, faults *ruqi.Faults) {
	if dialect == "" {
		dialect = cronexpr.Crontab
	}
	d := cronexpr.Lookup(dialect)
	if d == nil {
		faults.Add("/dialect", dialect, "%q is not one of %s%s", clip(dialect), strings.Join(cronexpr.Dialects(), ", "), object.DidYouMean(dialect, cronexpr.Dialects()...))
		return
	}
	parsed, err := cronexpr.Parse(d, expr)
	if err == nil && parsed.Hashed() && seed != "" {
		t.seed = seed
		parsed, err = parsed.Seeded(seed)
	}
	if err != nil {
		if said := inWords(expr); said != "" && !strings.Contains(err.Error(), "; write @") { // hourly is @hourly here
			faults.Add("/expr", expr, "expression: %s", said)
			return
		}
		if right := zoneBehind(d, expr); right != "" {
			faults.Add("/expr", expr, "expression: the zone stands in front; write %s, at column 1", right)
			return
		}
		faults.Add("/expr", expr, "%s", err.Error())
		return
	}
	t.expr = parsed
	if name := parsed.Zone(); name != "" {
		t.zone = zoneInFront(expr, name, faults)
	}
}

// zoneInFront loads the zone that an expression names: TZ=Europe/Berlin 0 9 * * *. It is nil where there is none.
func zoneInFront(expr, name string, faults *ruqi.Faults) *zone {
	z, err := loadZone(name)
	var wrong *ruqi.InvalidError
	if errors.As(err, &wrong) {
		faults.Add("/expr", name, "%s, at column %d", wrong.Faults[0].Message, strings.Index(expr, "=")+2)
	}
	return z
}

// zoneBehind returns an expression whose zone stands behind it as it is written; empty for others.
func zoneBehind(d *cronexpr.Dialect, expr string) string {
	fields := strings.Fields(expr)
	if d.Name != cronexpr.Crontab || len(expr) > longestText || len(fields) < 2 {
		return ""
	}
	name := fields[len(fields)-1]
	if !strings.Contains(name, "/") && name != "UTC" {
		return ""
	}
	right := "TZ=" + name + " " + strings.Join(fields[:len(fields)-1], " ")
	if !slices.Contains(zonetable.Names(), name) { // to load a zone that there is none of takes a millisecond
		return ""
	}
	if _, err := cronexpr.Parse(d, right); err != nil {
		return ""
	}
	return right
}

func (t *CronTrigger) readRules(faults *ruqi.Faults) {
	switch t.gap {
	case "":
		t.gap = GapRunAfter
	case GapRunAfter, GapShift, GapSkip:
	default:
		faults.Add("/gap", string(t.gap), "%q is not one of run_after, shift, skip%s", clip(string(t.gap)), object.DidYouMean(t.gap, GapRunAfter, GapShift, GapSkip))
	}
	switch t.fold {
	case "":
		t.fold = FoldAuto
	case FoldAuto, FoldFirst, FoldBoth, FoldSecond:
	default:
		faults.Add("/fold", string(t.fold), "%q is not one of auto, first, both, second%s", clip(string(t.fold)), object.DidYouMean(t.fold, FoldAuto, FoldFirst, FoldBoth, FoldSecond))
	}
}

// Kind returns "cron".
func (t *CronTrigger) Kind() string { return "cron" }

// Bind returns the trigger in the given zone, if it has none, with start and end
// read there, and with its H decided by the seed, if it has H and no seed; the
// anchor has no meaning for it. The error is an *ruqi.InvalidError.
func (t *CronTrigger) Bind(loc *time.Location, _ time.Time, seed string) (ruqi.Trigger, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	unseeded := t.expr.Hashed() && t.seed == "" && seed != ""
	if t.zone != nil && !unseeded {
		return t, nil
	}
	bound := *t
	var faults ruqi.Faults
	if unseeded {
		var err error
		if bound.expr, err = t.expr.Seeded(seed); err != nil {
			faults.Add("/expr", t.expr.Text(), "%s", err.Error())
		}
		bound.seed = seed
	}
	if t.zone == nil {
		z, err := zoneOf(loc)
		if faults.Merge("/zone", err); err != nil {
			return nil, faults.Err()
		}
		bound.zone = z
		bound.span = t.span.in(z, &faults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return &bound, nil
}

// Binding returns the zone, nil before Bind, and no anchor.
func (t *CronTrigger) Binding() (*time.Location, time.Time) {
	if t.zone == nil {
		return nil, time.Time{}
	}
	return t.zone.loc, time.Time{}
}

// EndTime returns the end, inclusive, if one was given.
func (t *CronTrigger) EndTime() (time.Time, bool) {
	return t.zone.timeMicro(t.span.end), t.span.end != none
}

// Dialect returns the name of the dialect.
func (t *CronTrigger) Dialect() string {
	if t.expr == nil {
		return ""
	}
	return t.expr.Dialect()
}

// String returns the canonical expression.
func (t *CronTrigger) String() string {
	if t.expr == nil {
		return "invalid"
	}
	return t.expr.Text()
}

// OnStart reports whether the expression is @reboot: it never fires by the clock, and a job with it needs ruqi.Policy.RunOnStart. Zone,
// Gap and Fold have no meaning for it.
func (t *CronTrigger) OnStart() bool { return t.expr != nil && t.expr.Never() }

// Next returns the first fire time strictly after the instant after. It does not
// allocate.
func (t *CronTrigger) Next(after time.Time) (time.Time, bool) {
	if t.fault != nil || t.OnStart() {
		return time.Time{}, false
	}
	// A fraction of a second is cut: the next whole second is after it.
	from := min(max(after.Unix(), earliest-1), latest) + 1
	if t.span.start != none {
		from = max(from, ceilSeconds(t.span.start))
	}
	w := t.walker()
	at, ok := w.next(from)
	if !ok || t.span.end != none && at > floorSeconds(t.span.end) {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(w.zone.loc), true
}

// Prev returns the last fire time strictly before the instant before.
func (t *CronTrigger) Prev(before time.Time) (time.Time, bool) {
	if t.fault != nil || t.OnStart() {
		return time.Time{}, false
	}
	until := ceilSeconds(clampMicros(before, true))
	if t.span.end != none {
		until = min(until, floorSeconds(t.span.end)+1)
	}
	w := t.walker()
	at, ok := w.prev(until)
	if !ok || t.span.start != none && at < ceilSeconds(t.span.start) {
		return time.Time{}, false
	}
	return w.zone.time(at), true
}

// Count returns how many fire times lie in (after, until]. It is exact; it takes
// a few hundred nanoseconds for each clock change between.
func (t *CronTrigger) Count(after, until time.Time) int64 {
	if t.fault != nil || t.OnStart() {
		return 0
	}
	from := floorSeconds(clampMicros(after, false)) + 1
	to := min(floorSeconds(clampMicros(until, false)), latest) + 1
	if t.span.start != none {
		from = max(from, ceilSeconds(t.span.start))
	}
	if t.span.end != none {
		to = min(to, floorSeconds(t.span.end)+1)
	}
	w := t.walker()
	return w.count(from, to)
}

// Matches reports whether the trigger fires at exactly this instant.
func (t *CronTrigger) Matches(at time.Time) bool {
	if at.Nanosecond() != 0 {
		return false
	}
	next, ok := t.Next(at.Add(-1))
	return ok && next.Equal(at)
}

func (t *CronTrigger) walker() walker {
	w := walker{t.expr, t.zone, t.rules}
	if w.zone == nil {
		w.zone = utc
	}
	return w
}

func floorSeconds(micros int64) int64 {
	s := micros / microsecond
	if micros < s*microsecond {
		s--
	}
	return s
}

func ceilSeconds(micros int64) int64 { return -floorSeconds(-micros) }

// none stands for a bound that was not given.
const none = math.MinInt64
