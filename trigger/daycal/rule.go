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
	// maxWork bounds what it takes to follow all rules of a calendar, in the periods and days that are gone through: 25 rules for
	// every weekend, and some tenths of a second.
	maxWork = 1_500_000
)

// A work is how much of maxWork is left while a calendar is read.
type work int

// take counts a rule, which is not to be followed when it returns false.
func (w *work) take(r rule) bool {
	*w = max(*w-r.work(), -1)
	return *w >= 0
}

// work returns how many periods and days following the rule goes through, roughly.
func (r rule) work() work {
	o := &r.option
	days := work(era)
	if !o.Until.IsZero() {
		days = min(days, max(1, work(dayOf(o.Until)-r.from)))
	}
	period := map[rrule.Frequency]work{rrule.YEARLY: 365, rrule.MONTHLY: 30, rrule.WEEKLY: 7, rrule.DAILY: 1}[o.Freq]
	periods := days/(period*work(max(1, o.Interval))) + 1
	found := work(max(1, len(o.Byweekday))) * work(max(1, len(o.Bymonth))) * work(max(1, len(o.Bymonthday))) * work(max(1, len(o.Byweekno)))
	found *= work(max(1, len(o.Byyearday)))
	for _, day := range o.Byweekday {
		if day.N() == 0 && o.Freq < rrule.WEEKLY { // each of them in the period
			found = period
		}
	}
	found = periods * min(found, period)
	if o.Count > 0 && found >= periods && len(o.Bymonth)+len(o.Bymonthday)+len(o.Byweekno)+len(o.Byyearday)+len(o.Bysetpos) == 0 &&
		(len(o.Byweekday) == 0 || o.Freq == rrule.WEEKLY) { // each period has one
		return min(periods+found, 2*work(o.Count))
	}
	return periods + found
}

// A rule is a recurrence of RFC 5545 (iCalendar), by days. It is followed for 400 years from its first day.
type rule struct {
	from   Day
	length int // days that each occurrence lasts
	option rrule.ROption
	except spans // occurrences that do not take place, by their first day
}

// parseRule reads the text of an RRULE and checks that it comes at all, and that there is work left to follow it.
func parseRule(from Day, length int, text string, left *work) (rule, error) {
	r := rule{from: from, length: length}
	invalid := func(format string, args ...any) (rule, error) { return r, ruqi.Invalid("", text, format, args...) }
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
	case option.Count < 0 || option.Interval < 0 || option.Interval > maxInterval || option.Interval == 0 && strings.Contains(upper, "INTERVAL="):
		return invalid("%q: COUNT is more than zero, INTERVAL from 1 to %d", clip(text), maxInterval)
	}
	r.option = *option
	r.option.Dtstart = time.Time{}
	if !left.take(r) {
		return invalid("%q: following all rules of the calendar for 400 years takes too long; give them an UNTIL, or say the weekdays and dates", clip(text))
	}
	next, _, err := r.iterate()
	if err != nil {
		return invalid("%q: %v", clip(text), err)
	}
	if _, comes := next(); !comes {
		return invalid("%q never comes", clip(text))
	}
	return r, nil
}

// text returns the canonical form of the rule.
func (r rule) text() string {
	option := r.option
	return option.RRuleString()
}

// iterate returns the occurrences, moved by shift days. Dates and weekdays repeat after 400 years: near the last year that the
// library knows, a rule that seldom comes is soon done with.
func (r rule) iterate() (next rrule.Next, shift Day, err error) {
	const lastEra = 9599 // the last year after which there are 400 more
	shift = Day((lastEra - r.from.Time().Year()) / 400 * era)
	option := r.option
	option.Dtstart = (r.from + shift).Time()
	until := (r.from + shift + era).Time()
	if !option.Until.IsZero() {
		if own := dayOf(option.Until); own < r.from+era {
			until = (own + shift).Time()
		}
	}
	option.Until = until
	set, err := rrule.NewRRule(option)
	if err != nil {
		return nil, 0, err
	}
	return set.Iterator(), shift, nil
}

// days returns the days of all occurrences.
func (r rule) days() (list []span) {
	next, shift, err := r.iterate()
	if err != nil {
		return nil // parseRule has tried it
	}
	for {
		t, ok := next()
		if !ok {
			return list
		}
		if d := dayOf(t) - shift; !r.except.contains(d) {
			list = append(list, span{d, d + Day(r.length) - 1})
		}
	}
}

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
func (c *Calendar) readRules(o *object.Object, left *work, faults *ruqi.Faults) {
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
		if r, ok := readRule(item, left, &inner); ok {
			c.rules = append(c.rules, r)
		}
		faults.Merge(object.Pointer("rules", strconv.Itoa(i)), inner.Err())
	}
}

func readRule(data []byte, left *work, faults *ruqi.Faults) (r rule, ok bool) {
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
	except := merged(readSpans(o, "except", faults))
	o.Done("from", "days", "rule", "except")
	if !given || faults.Err() != nil {
		return r, false
	}
	r, err = parseRule(from, int(length), text, left)
	faults.Merge("/rule", err)
	r.except = except
	return r, err == nil
}
