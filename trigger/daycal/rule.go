package daycal

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// What rules may be.
const (
	maxRules     = 100  // a calendar of holidays has a dozen
	maxRuleBytes = 500  // RFC 5545 has none; the longest that calendars write are of a hundred
	maxInterval  = 1000 // of years, months, weeks or days
	maxLength    = 366  // days
	// maxWork bounds what it takes to follow all rules of a calendar: the weeks, months, years and single days that are gone through. A rule that
	// comes in every period takes none, every other day 146,000, every other week 21,000. A step takes 30 to 45 ns of the processor of a
	// busy machine, so the most that a calendar takes is 0.07 s, and 50 MB for that time (seen with ten times every other day, and sixty-nine
	// times every second week by its number).
	maxWork = 1_500_000
)

// A work is how much of maxWork is left while a calendar is read.
type work int

// take counts steps; false says that there were too many.
func (w *work) take(steps int) bool {
	*w = max(*w-work(steps), -1)
	return *w >= 0
}

// A rule is a recurrence of RFC 5545 (iCalendar), by days. It is followed for 400 years from its first day.
type rule struct {
	from   Day
	length int // days that each occurrence lasts
	option rrule.ROption
	except spans // occurrences that do not take place, by their first day

	// Its days, until the calendar is compiled: the one or the other.
	line timeline
	days spans
}

// parse reads the text of an RRULE and computes its days. It checks that it comes at all.
func (r *rule) parse(text string, b *builder) error {
	invalid := func(format string, args ...any) error { return ruqi.Invalid("", text, format, args...) }
	if len(text) > maxRuleBytes {
		return invalid("a rule of %d bytes; %d are the most", len(text), maxRuleBytes)
	}
	upper := strings.ToUpper(strings.TrimSpace(text))
	if strings.ContainsAny(upper, ":\r\n") {
		return invalid("%q is not a rule such as FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", clip(text))
	}
	option, err := rrule.StrToROption(upper)
	if err != nil {
		return invalid("%q: %v", clip(text), err)
	}
	switch {
	case !strings.Contains(upper, "FREQ="):
		return invalid("%q has no FREQ", clip(text))
	case option.Freq > rrule.DAILY || len(option.Byhour)+len(option.Byminute)+len(option.Bysecond) > 0:
		return invalid("%q: a calendar is of days; FREQ is YEARLY, MONTHLY, WEEKLY or DAILY, without BYHOUR, BYMINUTE and BYSECOND", clip(text))
	case len(option.Byeaster) > 0:
		return invalid("%q: BYEASTER is not of RFC 5545", clip(text))
	case option.Count > 0 && !option.Until.IsZero():
		return invalid("%q has both COUNT and UNTIL", clip(text))
	case option.Count < 0 || option.Count == 0 && strings.Contains(upper, "COUNT=") || option.Interval < 0 || option.Interval > maxInterval || option.Interval == 0 && strings.Contains(upper, "INTERVAL="):
		return invalid("%q: COUNT is more than zero, INTERVAL from 1 to %d", clip(text), maxInterval)
	}
	r.option = *option
	r.option.Dtstart = time.Time{}
	if _, err := rrule.NewRRule(r.option); err != nil { // it checks the numbers
		return invalid("%q: %v", clip(text), err)
	}
	if n := len(r.text()); n > maxRuleBytes {
		return invalid("a rule of %d bytes, written out; %d are the most", n, maxRuleBytes)
	}
	switch comes, ok := r.follow(b); {
	case b.fault != nil:
		return invalid("%q: %v", clip(text), b.fault)
	case !ok:
		return invalid("%q: following all rules of the calendar for 400 years takes too long; give them an UNTIL, or say the weekdays and dates", clip(text))
	case !comes:
		return invalid("%q never comes", clip(text))
	}
	return nil
}

// text returns the canonical form of the rule.
func (r *rule) text() string { return r.option.RRuleString() }

// MarshalJSON returns {"from":"2026-11-26","days":1,"rule":"FREQ=YEARLY;BYMONTH=11;BYDAY=+4TH","except":["2027-11-25"]}.
func (r rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		From   string   `json:"from"`
		Days   int      `json:"days"`
		Rule   string   `json:"rule"`
		Except []string `json:"except,omitempty"`
	}{r.from.String(), r.length, r.text(), r.except.texts()})
}

// readRules reads the member rules.
func (c *Calendar) readRules(o *object.Object, b *builder, faults *ruqi.Faults) {
	raw, ok := o.Any("rules")
	if !ok {
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		faults.Add("/rules", string(raw), "not a list of rules")
		return
	}
	if len(list) > maxRules {
		faults.Add("/rules", "", "%d rules; %d are the most", len(list), maxRules)
		return
	}
	for i, item := range list {
		var inner ruqi.Faults
		if r, ok := readRule(item, b, &inner); ok {
			c.rules = append(c.rules, r)
		}
		faults.Merge(object.Pointer("rules", strconv.Itoa(i)), inner.Err())
	}
}

func readRule(data []byte, b *builder, faults *ruqi.Faults) (r rule, ok bool) {
	o, err := object.Read(data, faults.Add)
	if err != nil {
		faults.Add("", string(data), "%v", err)
		return r, false
	}
	from, given := object.Parse(o, "from", "a date", ParseDay)
	if !given && !o.Has("from") {
		faults.Add("/from", "", "missing")
	}
	length := int64(1)
	if n, given := o.Int("days"); given {
		if length = n; n < 1 || n > maxLength {
			faults.Add("/days", strconv.Itoa(int(n)), "out of range (1-%d)", maxLength)
		}
	}
	text, given := o.Need("rule")
	except := merged(readSpans(o, "except", b, faults))
	o.Done("from", "days", "rule", "except")
	if !given || faults.Err() != nil {
		return r, false
	}
	r = rule{from: from, length: int(length), except: except}
	err = r.parse(text, b)
	faults.Merge("/rule", err)
	return r, err == nil
}
