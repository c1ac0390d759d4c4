package legacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
)

// The kinds of triggers that clients may ask for.
const (
	kindCron     = "cron"
	kindInterval = "interval"
	kindDate     = "date"
)

var (
	intervalRule = regexp.MustCompile(`^([0-9]{1,12})([smhd])$`)
	dateRule     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?$`)
)

// The layouts in which times are read and shown.
const (
	secondLayout = "2006-01-02 15:04:05"
	microLayout  = "2006-01-02 15:04:05.000000"
)

// trigger reads a rule of a kind. now is what the rule "now" means.
func (h *Handler) trigger(kind, rule string, now time.Time) (ruqi.Trigger, error) {
	var shape any
	switch kind {
	case kindCron:
		shape = map[string]string{"kind": kind, "expr": rule, "dialect": "ruqi", "zone": h.Zone.String()}
	case kindInterval:
		seconds, ok := intervalSeconds(rule)
		if !ok {
			return nil, failed(statFailed, reasonRule, "an interval is a whole number, not 0, and one of s, m, h and d: 10s, 5m, 1h, 2d")
		}
		shape = map[string]string{"kind": kind, "every": strconv.FormatInt(seconds, 10) + "s"}
	case kindDate:
		switch {
		case rule == "now":
			// An instant, since a wall time may come twice.
			shape = map[string]string{"kind": kind, "at": now.UTC().Format(time.RFC3339Nano), "zone": h.Zone.String()}
		case dateRule.MatchString(rule):
			shape = map[string]string{"kind": kind, "at": rule, "zone": h.Zone.String()}
		default:
			return nil, failed(statFailed, reasonRule, "a date is now, 2026-12-01, 2026-12-01 09:30:00 or 2026-12-01 09:30:00.25")
		}
	default:
		return nil, failed(statFailed, reasonTrigger, "accepted are cron, interval and date")
	}
	data, err := json.Marshal(shape)
	if err != nil {
		return nil, err
	}
	trigger, err := h.Registry.DecodeTrigger(data)
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) {
		return nil, failed(statFailed, reasonRule, "%s", invalid.Error())
	}
	return trigger, err
}

// intervalSeconds reads a number with its unit.
func intervalSeconds(rule string) (int64, bool) {
	parts := intervalRule.FindStringSubmatch(rule)
	if parts == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n == 0 {
		return 0, false
	}
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": duration.Day}[parts[2]]
	return n * int64(unit/time.Second), true
}

// rule writes a trigger as clients know it. Of one that this API cannot make it is the text that the trigger has for itself.
func (h *Handler) rule(trigger ruqi.Trigger) string {
	data, err := trigger.MarshalJSON()
	if err != nil {
		return ""
	}
	text := string(data)
	if s, ok := trigger.(fmt.Stringer); ok {
		text = s.String()
	}
	var shape struct{ Expr, Every, At string }
	if json.Unmarshal(data, &shape) != nil { // of another kind, with other members of these names
		return text
	}
	switch trigger.Kind() {
	case kindCron:
		return shape.Expr
	case kindInterval:
		every, err := duration.Parse(shape.Every)
		if err != nil {
			return text
		}
		if every%time.Second != 0 {
			return duration.Format(every)
		}
		return fmt.Sprintf("%ds", every/time.Second)
	case kindDate:
		at, err := time.Parse(time.RFC3339Nano, shape.At)
		if err != nil {
			return text
		}
		if at.Nanosecond() != 0 {
			return at.In(h.Zone).Format(microLayout)
		}
		return h.time(at)
	}
	return text
}

// time writes a time as clients know it.
func (h *Handler) time(t time.Time) string { return t.In(h.Zone).Format(secondLayout) }
