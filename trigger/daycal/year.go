package daycal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// A workYear is what a government or a company lays down for one year: days off that are no weekend, and days of the
// weekend on which work is made up for.
type workYear struct {
	year               int
	holidays, workdays spans
}

// weekend are the bits of Saturday and Sunday.
const weekend = 1<<6 | 1<<0

// readYears reads the member years. Where it is given, the weekend is Saturday and Sunday unless weekdays says otherwise.
func (c *Calendar) readYears(o *object.Object, b *builder, faults *ruqi.Faults) {
	raw, ok := o.Any("years")
	if !ok {
		return
	}
	if !o.Has("weekdays") {
		c.weekdays = weekend
	}
	var inner ruqi.Faults
	years, err := object.Read(raw, inner.Add)
	if err != nil {
		faults.Add("/years", string(raw), "not an object such as {\"2026\":{\"holidays\":[…],\"workdays\":[…]}}")
		return
	}
	for _, m := range years.Members() {
		pointer := object.Pointer(m.Name)
		year, err := strconv.Atoi(m.Name)
		if err != nil || len(m.Name) != 4 {
			inner.Add(pointer, m.Name, "%q is not a year such as 2026", clip(m.Name))
			if b.enough() {
				break
			}
			continue
		}
		var own ruqi.Faults
		y := workYear{year: year}
		if of, err := object.Read(m.Value, own.Add); err != nil {
			own.Add("", string(m.Value), "not an object such as {\"holidays\":[…],\"workdays\":[…]}")
		} else {
			y.holidays = merged(readSpans(of, "holidays", b, &own))
			y.workdays = merged(readSpans(of, "workdays", b, &own))
			of.Done("holidays", "workdays")
		}
		if own.Err() == nil {
			y.check(&own)
		}
		inner.Merge(pointer, own.Err())
		c.years = append(c.years, y)
	}
	slices.SortFunc(c.years, func(a, b workYear) int { return a.year - b.year })
	if inner.Err() == nil {
		c.checkYears(&inner)
	}
	faults.Merge("/years", inner.Err())
}

// check refuses what can only be a slip: a day far from its year, and one that is both.
func (y workYear) check(faults *ruqi.Faults) {
	near := func(pointer string, list spans) {
		for _, s := range list {
			if first, last := s.from.Time().Year(), s.to.Time().Year(); first < y.year-1 || last > y.year+1 {
				faults.Add(pointer, s.String(), "%s is not near the year %d", s, y.year)
			}
		}
	}
	near("/holidays", y.holidays)
	near("/workdays", y.workdays)
	for _, s := range y.workdays {
		if both := y.holidays.next(s.from); both <= s.to {
			faults.Add("/workdays", both.String(), "%s is a holiday as well", both)
		}
	}
}

// checkYears refuses a day that one year has as a holiday and another as a working day: around New Year both lay it down.
func (c *Calendar) checkYears(faults *ruqi.Faults) {
	const near = 2 // years: the days of either are at most one away from its year
	for i, y := range c.years {
		for _, other := range c.years[max(0, i-near):min(len(c.years), i+near+1)] {
			if other.year == y.year {
				continue
			}
			for _, s := range y.workdays {
				if both := other.holidays.next(s.from); both <= s.to {
					faults.Add(object.Pointer(fmt.Sprintf("%04d", y.year), "workdays"), both.String(), "%s is a holiday of the year %d", both, other.year)
				}
			}
		}
	}
}

// Years returns the first and the last year for which holidays and working days are laid down, in this calendar or one of its union;
// ok is false when it has no such years. In other years, also those that are left out between the two, the weekend alone counts; Describe
// says so.
func (c *Calendar) Years() (first, last int, ok bool) {
	if n := len(c.years); n > 0 {
		first, last, ok = c.years[0].year, c.years[n-1].year, true
	}
	for _, u := range c.union {
		if from, to, has := u.Years(); has && ok {
			first, last = min(first, from), max(last, to)
		} else if has {
			first, last, ok = from, to, true
		}
	}
	return first, last, ok
}

// yearsJSON is the canonical form of the member years.
type yearsJSON []workYear

func (list yearsJSON) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, y := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal(struct {
			Holidays []string `json:"holidays,omitempty"`
			Workdays []string `json:"workdays,omitempty"`
		}{y.holidays.texts(), y.workdays.texts()})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `"%04d":%s`, y.year, text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// parseYearFiles reads the form in which the holidays of China are published for programs, one object a year or a list of them:
//
//	{"year":2026,"days":[{"name":"New Year","date":"2026-01-01","isOffDay":true}]}
//
// ok is false when the text has another form.
func parseYearFiles(data []byte, b *builder, faults *ruqi.Faults) (c *Calendar, ok bool) {
	var list []json.RawMessage
	listed := len(data) > 0 && data[0] == '['
	if !listed {
		list = []json.RawMessage{data}
	} else if err := json.Unmarshal(data, &list); err != nil {
		faults.Add("", string(data), "not JSON: %v", err)
		return nil, true
	}
	years := map[int]*workYear{}
	for i, item := range list {
		var inner ruqi.Faults
		pointer := ""
		if listed {
			pointer = object.Pointer(strconv.Itoa(i))
		}
		o, err := object.Read(item, inner.Add)
		if err != nil || !o.Has("year") || !o.Has("days") {
			if listed {
				faults.Add(pointer, string(item), "not an object with the members year and days")
				if b.enough() {
					break
				}
				continue
			}
			return nil, false
		}
		readYearFile(o, years, b, &inner)
		faults.Merge(pointer, inner.Err())
	}
	c = &Calendar{weekdays: weekend}
	good := faults.Err() == nil
	for _, number := range slices.Sorted(maps.Keys(years)) {
		y := years[number]
		y.holidays, y.workdays = merged(y.holidays), merged(y.workdays)
		if good {
			y.check(faults)
		}
		c.years = append(c.years, *y)
	}
	if good {
		c.checkYears(faults)
	}
	return c, true
}

// readYearFile reads one object of parseYearFiles; what else it says is for people.
func readYearFile(o *object.Object, years map[int]*workYear, b *builder, faults *ruqi.Faults) {
	number, _ := o.Int("year")
	if number < 1 || number > 9998 {
		faults.Add("/year", strconv.FormatInt(number, 10), "%d is not a year such as 2026", number)
		return
	}
	year := int(number)
	if years[year] == nil {
		years[year] = &workYear{year: year}
	}
	raw, _ := o.Raw("days")
	var days []json.RawMessage
	if err := json.Unmarshal(raw, &days); err != nil {
		faults.Add("/days", string(raw), "not a list")
		return
	}
	for i, item := range days {
		var inner ruqi.Faults
		day, err := object.Read(item, inner.Add)
		if err != nil {
			faults.Add(object.Pointer("days", strconv.Itoa(i)), string(item), "not an object")
			if b.enough() {
				return
			}
			continue
		}
		date, ok := object.Parse(day, "date", "a date", ParseDay)
		if !ok && inner.Err() == nil {
			inner.Add("/date", "", "missing")
		}
		off, given := day.Bool("isOffDay")
		if !given && inner.Err() == nil {
			inner.Add("/isOffDay", "", "missing")
		}
		if off {
			years[year].holidays = append(years[year].holidays, span{date, date})
		} else {
			years[year].workdays = append(years[year].workdays, span{date, date})
		}
		if err := inner.Err(); err != nil {
			faults.Merge(object.Pointer("days", strconv.Itoa(i)), err)
			if b.enough() {
				return
			}
		}
	}
}
