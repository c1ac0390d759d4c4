package daycal

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// What a calendar may hold.
const (
	maxBytes  = 1 << 20 // of its text: the holidays of a country for fifty years have a tenth of it. So dates are at most 80,000
	maxDepth  = 8       // calendars within calendars; people write two
	maxParts  = 10_000  // calendars within one, all together: a calendar of calendars names a dozen. Each takes some 5 µs to read
	maxFaults = 100     // that are told; nobody reads more
)

// weekdayNames are in the order of a week.
var weekdayNames = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// Parse reads a calendar: its JSON form, an iCalendar file (.ics), or a file with the holidays and make-up working days of a year. The error is an *ruqi.InvalidError with every fault; the pointers are those of the JSON form ("/dates/0").
func Parse(data []byte) (*Calendar, error) {
	if len(data) > maxBytes {
		return nil, ruqi.Invalid("", "", "a calendar of %d bytes; %d are the most", len(data), maxBytes)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var faults ruqi.Faults
	var c *Calendar
	b := newBuilder()
	if isCalendarFile(data) {
		c = parseFile(data, b, &faults)
	} else if len(data) > 0 && data[0] != '{' && data[0] != '[' {
		return nil, ruqi.Invalid("", "", "not an iCalendar file: it does not begin with BEGIN:VCALENDAR; nor is it JSON, which begins with { or [")
	} else if listed, ok := parseYearFiles(data, b, &faults); ok {
		c = listed
	} else {
		faults = ruqi.Faults{}
		b = newBuilder()
		c = parseObject(data, 1, b, &faults)
	}
	if b.wrong >= maxFaults && b.parts <= maxParts {
		faults.Add("", "", "more than %d faults; what follows was not read", maxFaults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if err := c.checkSize(); err != nil {
		return nil, err
	}
	if c.compile(b); b.fault != nil {
		return nil, ruqi.Invalid("", "", "%v", b.fault)
	}
	return c, nil
}

func parseObject(data []byte, depth int, b *builder, faults *ruqi.Faults) *Calendar {
	c := &Calendar{}
	if depth > maxDepth {
		faults.Add("", "", "calendars are nested more than %d deep", maxDepth)
		b.enough()
		return c
	}
	o, err := object.Read(data, faults.Add)
	if err != nil {
		b.enough()
		faults.Add("", string(data), "%v", err)
		return c
	}
	c.dates = merged(readSpans(o, "dates", b, faults))
	c.weekdays = readWeekdays(o, "weekdays", b, faults)
	c.readYearly(o, b, faults)
	c.readYears(o, b, faults)
	c.readRules(o, b, faults)
	if raw, ok := o.Raw("union"); ok {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			faults.Add("/union", string(raw), "not a list of calendars")
		}
		if b.parts += len(list); b.parts > maxParts {
			faults.Add("/union", "", "more than %d calendars within one; dates, weekdays and rules are lists already", maxParts)
			b.wrong = maxFaults // the rest is not read
			return c
		}
		for i, item := range list {
			if b.wrong >= maxFaults {
				break // the rest is not read
			}
			c.union = append(c.union, below(object.Pointer("union", strconv.Itoa(i)), item, depth, b, faults))
		}
	}
	if raw, ok := o.Raw("without"); ok {
		b.parts++
		c.without = below("/without", raw, depth, b, faults)
	}
	o.Done("dates", "weekdays", "yearly", "years", "rules", "union", "without")
	return c
}

// below reads a calendar within another.
func below(pointer string, data []byte, depth int, b *builder, faults *ruqi.Faults) *Calendar {
	var inner ruqi.Faults
	c := parseObject(data, depth+1, b, &inner)
	faults.Merge(pointer, inner.Err())
	return c
}

// readSpans reads a list of dates and ranges.
func readSpans(o *object.Object, name string, b *builder, faults *ruqi.Faults) (list []span) {
	readTexts(o, name, `a date such as "2026-12-25"`, b, faults, func(text string) error {
		s, err := parseSpan(text)
		if err == nil {
			list = append(list, s)
		}
		return err
	})
	return list
}

// readTexts reads a list of texts until there are too many faults.
func readTexts(o *object.Object, name, accepted string, b *builder, faults *ruqi.Faults, read func(text string) error) {
	o.EachText(name, accepted, func(pointer, text string, ok bool) bool {
		var err error
		if ok {
			err = read(text)
			faults.Merge(pointer, err)
		}
		return ok && err == nil || !b.enough()
	})
}

// parseSpan reads 2026-12-25 or 2026-12-24/2027-01-01.
func parseSpan(text string) (span, error) {
	first, last, isRange := strings.Cut(text, "/")
	if !isRange || dateMeant(text) != "" {
		day, err := ParseDay(text)
		return span{day, day}, err
	}
	from, err := ParseDay(first)
	to := from
	if err == nil {
		to, err = ParseDay(last)
	}
	switch {
	case err == nil && to < from:
		err = ruqi.Invalid("", text, "%q ends before it begins", clip(text))
	case err != nil && strings.Contains(first, "-"):
		err = ruqi.Invalid("", text, "%q: %v", clip(text), err)
	case err != nil:
		err = ruqi.Invalid("", text, "%q is not a date that exists, such as 2026-12-25, nor a range such as 2026-12-24/2027-01-01", clip(text))
	}
	return span{from, to}, err
}

func readWeekdays(o *object.Object, name string, b *builder, faults *ruqi.Faults) (mask uint8) {
	accepted := "one of " + strings.Join(weekdayNames, ", ")
	readTexts(o, name, accepted, b, faults, func(text string) error {
		n := slices.Index(weekdayNames, strings.ToLower(text))
		if n < 0 {
			return ruqi.Invalid("", text, "%q is not %s%s", clip(text), accepted, weekdayMeant(text))
		}
		mask |= 1 << ((n + 1) % 7)
		return nil
	})
	return mask
}

// weekdayMeant asks for the name of the weekday that was meant: that which is nearly the text, or the beginning of what is nearly it.
func weekdayMeant(text string) string {
	if hint := object.DidYouMean(text, weekdayNames...); hint != "" {
		return hint
	}
	lower := strings.ToLower(text)
	for n, name := range weekdayNames {
		whole := strings.ToLower(time.Weekday((n + 1) % 7).String())
		if strings.HasPrefix(whole, lower) && len(lower) > len(name) || object.Nearest(lower, []string{whole}) != "" {
			return object.DidYouMean(strings.ToUpper(name), name)
		}
	}
	return ""
}

// A yearDate is a date of every year.
type yearDate struct {
	month time.Month
	day   int
}

// next returns the date after; 1 January after 31 December, 1 March after 29 February.
func (y yearDate) next() yearDate {
	t := time.Date(2000, y.month, y.day+1, 0, 0, 0, 0, time.UTC) // a leap year
	return yearDate{t.Month(), t.Day()}
}

func parseYearDate(text string) (yearDate, error) {
	t, err := time.Parse("2006-01-02", "2000"+strings.TrimPrefix(text, "-"))
	if err == nil && strings.HasPrefix(text, "--") {
		return yearDate{t.Month(), t.Day()}, nil
	}
	hint := ""
	if _, err := ParseDay(text); err == nil {
		hint = text[len("2026"):]
	} else if _, err := time.Parse("2006-01-02", "2000-"+strings.TrimPrefix(text, "-")); err == nil {
		hint = "-" + strings.TrimPrefix(text, "-")
	}
	if hint != "" {
		hint = `; did you mean "-` + hint + `"?`
	}
	return yearDate{}, ruqi.Invalid("", text, "%q is not a date of every year, such as --12-25%s", clip(text), hint)
}

// parseYearSpan reads --12-25 or --12-30/--01-02.
func parseYearSpan(text string) (from, to yearDate, err error) {
	first, last, isRange := strings.Cut(text, "/")
	from, err = parseYearDate(first)
	to = from
	if err == nil && isRange {
		to, err = parseYearDate(last)
	}
	switch {
	case err == nil || !isRange:
	case strings.Contains(first, "-"):
		err = ruqi.Invalid("", text, "%q: %v", clip(text), err)
	default:
		err = ruqi.Invalid("", text, "%q is not a date of every year, such as --12-25, nor a range such as --12-24/--12-26", clip(text))
	}
	return from, to, err
}

// readYearly reads --12-25 and --12-30/--01-02.
func (c *Calendar) readYearly(o *object.Object, b *builder, faults *ruqi.Faults) {
	readTexts(o, "yearly", `a date of every year such as "--12-25"`, b, faults, func(text string) error {
		from, to, err := parseYearSpan(text)
		for ; err == nil; from = from.next() {
			c.yearly[from.month] |= 1 << from.day
			if from == to {
				break
			}
		}
		return err
	})
}

// MarshalJSON returns the canonical form: the members that say something in the order of the package comment, lists sorted, what
// touches put together, no blanks. Equal forms mean equal calendars.
func (c *Calendar) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Dates    []string    `json:"dates,omitempty"`
		Weekdays []string    `json:"weekdays,omitzero"`
		Yearly   []string    `json:"yearly,omitempty"`
		Years    yearsJSON   `json:"years,omitempty"`
		Rules    []rule      `json:"rules,omitempty"`
		Union    []*Calendar `json:"union,omitempty"`
		Without  *Calendar   `json:"without,omitempty"`
	}{c.dates.texts(), c.weekdayTexts(), c.yearlyTexts(), c.years, c.rules, c.union, c.without})
}

// checkSize refuses a calendar whose canonical form is longer than Parse takes, though the form that it was read from is not.
func (c *Calendar) checkSize() error {
	least, most := c.size()
	if least <= maxBytes && most > maxBytes {
		if text, err := c.MarshalJSON(); err == nil {
			least = len(text)
		}
	}
	if least <= maxBytes {
		return nil
	}
	return ruqi.Invalid("", "", "a calendar of %d bytes when it is written out day by day; %d are the most", least, maxBytes)
}

// size returns bounds of the length of the canonical form.
func (c *Calendar) size() (least, most int) {
	const names = 100 // of all members, with what stands around their values
	n := c.dates.size()
	for _, days := range c.yearly {
		n += bits.OnesCount32(days) * len(`"--12-25",`)
	}
	for _, y := range c.years {
		n += y.holidays.size() + y.workdays.size()
	}
	for i := range c.rules {
		n += len(c.rules[i].text()) + c.rules[i].except.size()
	}
	least = n
	most = n + names + names*len(c.rules) + names*len(c.years)
	for _, u := range c.union {
		from, to := u.size()
		least, most = least+from, most+to
	}
	if c.without != nil {
		from, to := c.without.size()
		least, most = least+from, most+to
	}
	return least, most
}

func (list spans) size() (n int) {
	for _, s := range list {
		n += len(`"2026-12-25",`)
		if s.to > s.from {
			n += len("/2026-12-25")
		}
	}
	return n
}

// UnmarshalJSON reads what Parse does into a calendar that nobody else has yet.
func (c *Calendar) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err != nil {
		return err
	}
	*c = *parsed
	return nil
}

// String returns 2026-12-25 or 2026-12-24/2027-01-01.
func (s span) String() string {
	if s.to == s.from {
		return s.from.String()
	}
	return s.from.String() + "/" + s.to.String()
}

func (list spans) texts() (texts []string) {
	for _, s := range list {
		texts = append(texts, s.String())
	}
	return texts
}

// weekdayTexts returns the names; an empty list, and not none, where years would fill in the usual weekend.
func (c *Calendar) weekdayTexts() (texts []string) {
	for i, name := range weekdayNames {
		if c.weekdays>>((i+1)%7)&1 == 1 {
			texts = append(texts, name)
		}
	}
	if texts == nil && len(c.years) > 0 {
		texts = []string{}
	}
	return texts
}

func (c *Calendar) yearlyTexts() (texts []string) {
	for month := time.January; month <= time.December; month++ {
		for set := c.yearly[month]; set != 0; set &= set - 1 {
			texts = append(texts, time.Date(2000, month, bits.TrailingZeros32(set), 0, 0, 0, 0, time.UTC).Format("--01-02"))
		}
	}
	return texts
}
