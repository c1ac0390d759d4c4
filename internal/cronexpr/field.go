package cronexpr

import (
	"fmt"
	"slices"
	"strings"
)

// A reader reads one field: a list of elements. It appends the canonical spelling
// to the parser's buffer.
type reader struct {
	*parser
	f      *field
	length int // of the field's text
}

// field reads the field that stands in w.
func (p *parser) field(f *field, w word) *Error {
	r := reader{p, f, len(w.text)}
	p.columns[f.unit] = w.column
	p.starred[f.unit] = w.text[0] == '*' || w.text[0] == '?' && f.extra&anyQuestion != 0
	for rest := w; ; {
		element := rest
		comma := strings.IndexByte(rest.text, ',')
		if comma >= 0 {
			element.text = rest.text[:comma]
		}
		if trimmed := element.trim(); p.d.keyed && trimmed.text != "" {
			element = trimmed
		}
		if strings.Trim(element.text, " \t") == "" {
			return r.fault(element, "an element of the list is empty")
		}
		if err := r.element(element); err != nil {
			return err
		}
		if comma < 0 {
			return nil
		}
		p.buf = append(p.buf, ',')
		rest = word{rest.text[comma+1:], rest.column + comma + 1}
	}
}

// fault returns an error about a part of the field.
func (r *reader) fault(w word, format string, args ...any) *Error {
	return &Error{Field: unitNames[r.f.unit], Column: w.column, Read: cut(w.text),
		Reason: fmt.Sprintf(format, args...), Accepted: r.f.accepted}
}

// element reads *, a, a-b, any of them with a step, or an extra.
func (r *reader) element(w word) *Error {
	f := r.f
	if n, ok := number(w.text); ok && n >= f.min && n <= f.top {
		r.one(n)
		return nil
	}
	if w.text == "*" {
		r.star(f)
		r.buf = append(r.buf, '*')
		return nil
	}
	if done, err := r.special(w); done || err != nil {
		return err
	}
	span, stepText, stepped := strings.Cut(w.text, "/")
	step := 1
	if stepped {
		var err *Error
		if step, err = r.step(word{stepText, w.column + len(span) + 1}); err != nil {
			return err
		}
	}

	if span == "" && stepped {
		fault := r.fault(w, "nothing stands before the slash of %s", shown(w.text))
		fault.Suggestion = "*" + w.text
		return fault
	}
	if span == "*" || span == "?" && f.extra&anyQuestion != 0 {
		r.e.fill(f, f.min, f.max, step)
		if span == "?" && !stepped && f.extra&extraNoValue != 0 {
			r.buf = append(r.buf, '?')
			return nil
		}
		r.buf = append(r.buf, '*')
		r.suffix(stepped, step)
		return nil
	}
	fromText, toText, ranged := strings.Cut(span, "-")
	from, err := r.value(word{fromText, w.column}, w)
	if err != nil {
		return err
	}
	switch {
	case ranged:
		to, err := r.value(word{toText, w.column + len(fromText) + 1}, w)
		if err != nil {
			return err
		}
		if from > to && f.extra&extraWrap == 0 {
			return r.reversed(w, from, to, step)
		}
		r.e.fill(f, from, to, step)
		if to > f.max {
			// As a name, the second Sunday comes first: the range becomes a list.
			r.buf = r.list(r.buf, from, to, step)
			return nil
		}
		r.buf = append(f.text(r.buf, from), '-')
		r.buf = f.text(r.buf, to)
		r.suffix(stepped, step)
	case stepped && from <= f.max:
		r.e.fill(f, from, f.max, step)
		r.buf = f.text(r.buf, from)
		r.suffix(stepped, step)
	default:
		r.one(from)
	}
	return nil
}

// one reads a single value.
func (r *reader) one(n int) {
	if r.f.unit == year {
		r.e.fill(r.f, n, n, 1)
	} else {
		r.e.add(r.f.unit, 1<<r.f.bit(n))
	}
	r.buf = r.f.text(r.buf, n)
}

func (r *reader) suffix(stepped bool, step int) {
	if stepped {
		r.buf = appendInt(append(r.buf, '/'), step)
	}
}

// list appends the values of a range one by one.
func (r *reader) list(buf []byte, from, to, step int) []byte {
	var seen uint64
	f := r.f
	size := f.max - f.min + 1
	for v := from; v <= to; v += step {
		n := v
		if n > f.top {
			n -= size
		}
		if seen>>f.bit(n)&1 != 0 {
			continue
		}
		if seen != 0 {
			buf = append(buf, ',')
		}
		seen |= 1 << f.bit(n)
		buf = f.text(buf, n)
	}
	return buf
}

// reversed refuses a range that runs backwards and spells out what was meant.
func (r *reader) reversed(w word, from, to, step int) *Error {
	f := r.f
	fault := r.fault(w, "the range %s runs backwards", shown(w.text))
	switch {
	case f.unit == year: // nobody means to go on from 1970
		fault.Suggestion = f.spell(to) + "-" + f.spell(from)
		if step > 1 {
			fault.Suggestion += "/" + itoa(step)
		}
	case f.names == nil && step == 1:
		upper, lower := f.spell(from), f.spell(to)
		if from < f.max {
			upper += "-" + f.spell(f.max)
		}
		if to > f.min {
			lower = f.spell(f.min) + "-" + lower
		}
		fault.Suggestion = upper + "," + lower
	default:
		fault.Suggestion = string(r.list(nil, from, to+f.max-f.min+1, step))
	}
	return fault
}

// mostDigits: no field takes a number of more digits, and a step beyond has no
// meaning (the largest range has 8,030 values).
const mostDigits = 4

// step reads what stands after the slash.
func (r *reader) step(w word) (int, *Error) {
	n, ok := number(w.text)
	var fault *Error
	switch {
	case w.text == "":
		fault = r.fault(w, "a step is missing after the slash")
	case !ok:
		fault = r.fault(w, "the step %s is not a whole number of at most %d digits", shown(w.text), mostDigits)
	case n == 0:
		fault = r.fault(w, "a step of 0 would never end")
	default:
		return n, nil
	}
	fault.Accepted = "a step from 1"
	return 0, fault
}

// number reads ASCII digits.
func number(text string) (n int, ok bool) {
	if text == "" || len(text) > mostDigits {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}

// digits reports whether a text holds nothing but ASCII digits.
func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// value reads a number or a name; whole is the element it stands in.
func (r *reader) value(w, whole word) (int, *Error) {
	f := r.f
	if n, ok := number(w.text); ok && n >= f.min && n <= f.top {
		return n, nil
	}
	if digits(w.text) {
		return 0, r.fault(w, "%s is out of range", cut(w.text))
	}
	if i := f.name(w.text); i >= 0 {
		return f.min + i, nil
	}
	switch {
	case w.text != whole.text && f.single(w.text):
		return 0, r.alone(whole)
	case w.text == "" && strings.HasPrefix(whole.text, "#"):
		return 0, r.fault(w, "%s lacks its weekday", shown(whole.text))
	case w.text == "":
		return 0, r.fault(w, "the range %s lacks an end", shown(whole.text))
	case w.text == "*":
		return 0, r.fault(w, "* cannot be the end of a range, as in %s", shown(whole.text))
	case w.text == "?" && w.text == whole.text:
		fault := r.fault(w, "? belongs to the dialects crontab and quartz")
		if f.extra&anyQuestion == 0 && (f.unit == day || f.unit == weekday) {
			fault.Suggestion = "*"
		} else {
			fault.Reason = "? belongs to the day fields"
		}
		return 0, fault
	case f.unit == weekday && f.extra&extraWeekL == 0 && (strings.Contains(whole.text, "#") || ordinalOf(whole.text) != ""):
		return 0, r.position(whole)
	case f.unit == day && r.d.keyed && ordinalOf(whole.text) != "":
		fault := r.fault(whole, "%s is neither a day nor a position of a weekday", shown(whole.text))
		fault.Suggestion = r.quote(ordinalOf(whole.text))
		return 0, fault
	case w.text[0] == 'H' || w.text[0] == 'h' && f.names == nil:
		return 0, r.fault(w, "%s: hashed values (H) stand alone, and in the dialect crontab only", shown(w.text))
	case f.names == nil:
		fault := r.fault(w, "%s is not a number", shown(w.text))
		if f.extra&extraLast != 0 && strings.EqualFold(whole.text, "L") {
			fault.Suggestion = "last"
		}
		if f.unit == hour {
			fault.Suggestion = clockHour(strings.ToLower(w.text))
		}
		return 0, fault
	}
	fault := r.fault(w, "%s is neither a number nor a name", shown(w.text))
	fault.Suggestion = f.nearest(w.text)
	return 0, fault
}

// clockHour returns 9am, 9pm and 9h as an hour; empty for other texts, and for 12am, which is noon to some and midnight to others.
func clockHour(text string) string {
	digits := strings.TrimRight(text, "amph")
	n, ok := number(digits)
	switch half := text[len(digits):]; {
	case !ok || half == "h" && n > 23 || half != "h" && (n < 1 || n > 11):
		return ""
	case half == "pm":
		return itoa(n + 12)
	case half == "am" || half == "h":
		return itoa(n)
	}
	return ""
}

// position refuses fri#3 and friL in a weekday field that has none, and says where such a thing stands.
func (r *reader) position(w word) *Error {
	fault := r.fault(w, "%s is a position in the month, which the dialects crontab and quartz have", shown(w.text))
	if !r.d.keyed {
		return fault
	}
	fault.Reason = shown(w.text) + " is a position in the month, which the field day takes"
	text := ordinalOf(w.text)
	if text == "" {
		fault.Reason += ", as in day='3rd fri'"
		return fault
	}
	fault.Reason += ": day='" + text + "'"
	if whole := r.columns[weekday]; whole == w.column && !r.quoted[weekday] && len(w.text) == r.length {
		const key = "day_of_week="
		fault.Column, fault.Read, fault.Suggestion = w.column-len(key), key+w.text, "day='"+text+"'"
	}
	return fault
}

// name returns the place of a name in the field's list, or -1.
func (f *field) name(text string) int {
	if len(text) != 3 {
		return -1
	}
	return slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name, text) })
}
