package cronexpr

import "strings"

// special reads the elements only some fields take; done is false when it is none.
func (r *reader) special(w word) (done bool, err *Error) {
	takes := r.f.extra
	first, last := lower(w.text[0]), lower(w.text[len(w.text)-1])
	switch {
	case takes&extraHash != 0 && first == 'h':
		return true, r.hash(w)
	case takes&extraLast != 0 && strings.EqualFold(w.text, "last"):
		r.e.days.fromLast |= 1
		r.buf = append(r.buf, "last"...)
		return true, nil
	case takes&extraOrdinal != 0 && (strings.ContainsAny(w.text, " \t") || len(w.text) > 2 && last >= 'a' && last <= 'z'):
		return true, r.ordinal(w)
	case takes&extraL != 0 && (first == 'l' || last == 'w'):
		return r.dayExtra(w, strings.ToUpper(w.text))
	case takes&extraWeekL != 0 && (last == 'l' || strings.Contains(w.text, "#")):
		return true, r.weekdayExtra(w)
	}
	return false, nil
}

// lower returns an ASCII letter in lower case, and other bytes as some other byte.
func lower(b byte) byte { return b | 0x20 }

// dayExtra reads L, L-n, LW and nW.
func (r *reader) dayExtra(w word, upper string) (done bool, err *Error) {
	days := &r.e.days
	rest, isLast := strings.CutPrefix(upper, "L")
	before, isNearest := strings.CutSuffix(upper, "W")
	switch {
	case upper == "L":
		days.fromLast |= 1
		r.buf = append(r.buf, 'L')
	case upper == "LW":
		days.lastFull = true
		r.buf = append(r.buf, "LW"...)
	case isLast && strings.HasPrefix(rest, "-"):
		n, ok := number(rest[1:])
		if !ok || n < 1 || n > 30 {
			fault := r.fault(w, "%s does not count back from the last day", shown(w.text))
			fault.Accepted = "L-1 to L-30, and L for the last day"
			if ok && n == 0 {
				fault.Suggestion = "L"
			}
			return true, fault
		}
		days.fromLast |= 1 << n
		r.buf = appendInt(append(r.buf, "L-"...), n)
	case isNearest && digits(before):
		n, ok := number(before)
		if !ok || n < 1 || n > 31 {
			fault := r.fault(w, "%s is out of range", cut(w.text))
			fault.Accepted = "1W to 31W, LW"
			return true, fault
		}
		days.nearest |= 1 << n
		r.buf = append(appendInt(r.buf, n), 'W')
	default:
		return false, nil
	}
	return true, nil
}

// weekdayExtra reads d#n, dL, and L where it is a weekday.
func (r *reader) weekdayExtra(w word) *Error {
	f, days := r.f, &r.e.days
	if i := strings.IndexAny(w.text, "-/"); i > 0 && w.text[i-1] != '#' {
		return r.alone(w)
	}
	if name, which, found := strings.Cut(w.text, "#"); found {
		d, err := r.value(word{name, w.column}, w)
		if err != nil {
			return err
		}
		n, ok := number(which)
		if !ok || n < 1 || n > 5 {
			fault := r.fault(word{which, w.column + len(name) + 1}, "there is no week %s of a month", shown(which))
			fault.Accepted = "#1 to #5"
			return fault
		}
		days.nth.nth |= 1 << (7*(n-1) + f.bit(d))
		r.buf = appendInt(append(f.text(r.buf, d), '#'), n)
		return nil
	}
	name := w.text[:len(w.text)-1]
	switch {
	case name == "" && f.last != 0:
		r.one(f.last)
		return nil
	case name == "":
		return r.fault(w, "L alone is not a weekday; friL is the last Friday, and L in the day field the last day")
	}
	d, err := r.value(word{name, w.column}, w)
	if err != nil {
		return err
	}
	days.nth.last |= 1 << f.bit(d)
	r.buf = append(f.text(r.buf, d), 'L')
	return nil
}

// alone refuses what is one day of each month in a range, or with a step.
func (r *reader) alone(w word) *Error {
	return r.fault(w, "%s: %s are single days of a month, in no range and without a step", shown(w.text), r.f.singles())
}

// singles names what the field has that stands alone.
func (f *field) singles() string {
	switch {
	case f.extra&extraL != 0:
		return "L, L-n, LW and nW"
	case f.extra&extraWeekL != 0:
		return "d#n and dL"
	}
	return "last and positions of a weekday"
}

// single reports whether a text is an element of the field that stands alone.
func (f *field) single(text string) bool {
	day, nearest := strings.CutSuffix(strings.ToUpper(text), "W")
	switch {
	case f.extra&extraL != 0:
		return nearest && (day == "L" || digits(day)) || strings.EqualFold(text, "L")
	case f.extra&extraWeekL != 0:
		return strings.Contains(text, "#") || len(text) > 1 && lower(text[len(text)-1]) == 'l' && (digits(text[:len(text)-1]) || ordinalOf(text) != "")
	}
	return f.extra&extraLast != 0 && strings.EqualFold(text, "last")
}

// ordinals are the spellings of the weeks of a month, the first at 0.
var ordinals = [...]string{"1st", "2nd", "3rd", "4th", "5th"}

// ordinalOf returns what fri#3 and friL are as a position in the month: 3rd fri, last fri; empty for other texts. A number in the
// place of the name has no meaning that all dialects share.
func ordinalOf(text string) string {
	if name, which, found := strings.Cut(text, "#"); found {
		if n, ok := number(which); ok && n >= 1 && n <= len(ordinals) && nearest(fromSunday, name) != "" {
			return ordinals[n-1] + " " + nearest(fromSunday, name)
		}
		return ""
	}
	if len(text) > 1 && lower(text[len(text)-1]) == 'l' && nearest(fromSunday, text[:len(text)-1]) != "" {
		return "last " + nearest(fromSunday, text[:len(text)-1])
	}
	return ""
}

// quote puts a value with a blank in quotes, unless it stands in some.
func (r *reader) quote(text string) string {
	if r.quoted[r.f.unit] {
		return text
	}
	return "'" + text + "'"
}

// ordinal reads 1st fri to 5th fri and last fri.
func (r *reader) ordinal(w word) *Error {
	position := w.text
	name := word{"", w.column + len(w.text)}
	if i := strings.IndexAny(w.text, " \t"); i >= 0 {
		position = w.text[:i]
		name = word{w.text[i:], w.column + i}.trim()
	}
	n := -1
	for i, text := range ordinals {
		if strings.EqualFold(text, position) {
			n = i
		}
	}
	last := strings.EqualFold(position, "last")
	if n < 0 && !last {
		fault := r.fault(w, "%s is neither a day nor a position of a weekday", shown(w.text))
		if digits(position[:1]) && position[0] >= '1' && position[0] <= '5' && nearest(fromSunday, name.text) != "" {
			fault.Suggestion = r.quote(ordinals[position[0]-'1'] + " " + nearest(fromSunday, name.text))
		} else if text := ordinalOf(w.text); text != "" {
			fault.Suggestion = r.quote(text)
		} else if ofWeek(w.text) {
			fault.Reason += "; weekdays are those of day_of_week"
		}
		return fault
	}
	d := -1
	for i, weekday := range fromSunday {
		if strings.EqualFold(weekday, name.text) {
			d = i
		}
	}
	if d < 0 {
		fault := r.fault(name, "%s is followed by %s, not by a weekday", position, shown(name.text))
		if name.text == "" {
			fault.Reason = "no weekday follows " + position
		}
		fault.Accepted = "mon, tue, wed, thu, fri, sat, sun"
		fault.Suggestion = nearest(fromSunday, name.text)
		return fault
	}
	if last {
		r.e.days.ordinal.last |= 1 << d
		r.buf = append(r.buf, "last "...)
	} else {
		r.e.days.ordinal.nth |= 1 << (7*n + d)
		r.buf = append(append(r.buf, ordinals[n]...), ' ')
	}
	r.buf = append(r.buf, fromSunday[d]...)
	return nil
}
