package cronexpr

import (
	"fmt"
	"slices"
	"strings"
)

// A reader reads one field: a list of elements.
type reader struct {
	e       *Expr
	f       *field
	w       word
	starred bool
	texts   []string // the canonical elements
}

func (r *reader) read() *Error {
	column := r.w.column
	first := r.w.text[0]
	r.starred = first == '*' || first == '?' && r.f.extra&extraQuestion != 0
	for element := range strings.SplitSeq(r.w.text, ",") {
		if element == "" {
			return r.fault(word{r.w.text, column}, "an element of the list is empty")
		}
		if err := r.element(word{element, column}); err != nil {
			return err
		}
		column += len(element) + 1
	}
	return nil
}

// fault returns an error about a part of the field.
func (r *reader) fault(w word, format string, args ...any) *Error {
	return &Error{Field: unitNames[r.f.unit], Column: w.column, Read: w.text[:min(len(w.text), mostRead)],
		Reason: fmt.Sprintf(format, args...), Accepted: r.f.accepted}
}

// element reads *, a, a-b, any of them with a step, or an extra.
func (r *reader) element(w word) *Error {
	if done, err := r.extra(w); done || err != nil {
		return err
	}
	f := r.f
	span, stepText, stepped := strings.Cut(w.text, "/")
	step := 1
	if stepped {
		var err *Error
		if step, err = r.step(word{stepText, w.column + len(span) + 1}); err != nil {
			return err
		}
	}
	suffix := ""
	if stepped {
		suffix = "/" + itoa(step)
	}

	if span == "*" || span == "?" && f.extra&extraQuestion != 0 {
		r.fill(f.min, f.max, step)
		r.texts = append(r.texts, "*"+suffix)
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
		if from > to {
			return r.reversed(w, from, to, step)
		}
		r.fill(from, to, step)
		r.texts = append(r.texts, r.rangeText(from, to, step, suffix))
	case stepped && from <= f.max:
		r.fill(from, f.max, step)
		r.texts = append(r.texts, f.text(from)+suffix)
	default:
		r.e.add(f.unit, f.bit(from))
		r.texts = append(r.texts, f.text(from))
	}
	return nil
}

func (r *reader) fill(from, to, step int) {
	for v := from; v <= to; v += step {
		r.e.add(r.f.unit, r.f.bit(v))
	}
}

// rangeText spells a range so that it is read back as the same: a weekday range
// that ends in the second Sunday becomes a list, for as a name Sunday comes first.
func (r *reader) rangeText(from, to, step int, suffix string) string {
	if to > r.f.max {
		return r.listText(from, to, step)
	}
	return r.f.text(from) + "-" + r.f.text(to) + suffix
}

func (r *reader) listText(from, to, step int) string {
	var list []string
	for v := from; v <= to; v += step {
		if name := r.f.text(v); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

// reversed refuses a range that runs backwards and spells out what was meant.
func (r *reader) reversed(w word, from, to, step int) *Error {
	f := r.f
	fault := r.fault(w, "the range %s runs backwards", shown(w.text))
	size := f.max - f.min + 1
	switch {
	case f.names == nil && step == 1:
		upper, lower := f.text(from), f.text(to)
		if from < f.max {
			upper += "-" + f.text(f.max)
		}
		if to > f.min {
			lower = f.text(f.min) + "-" + lower
		}
		fault.Suggestion = upper + "," + lower
	default:
		var list []string
		for v := from; v <= to+size; v += step {
			if name := f.text((v-f.min)%size + f.min); !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		fault.Suggestion = strings.Join(list, ",")
	}
	return fault
}

// mostDigits: no field takes a number of more digits, and a step beyond has no
// meaning (the largest range has 60 values).
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
	if i := slices.IndexFunc(f.names, func(name string) bool { return strings.EqualFold(name, w.text) }); i >= 0 {
		return f.min + i, nil
	}
	switch {
	case w.text == "":
		return 0, r.fault(whole, "the range %s lacks an end", shown(whole.text))
	case w.text == "*":
		return 0, r.fault(whole, "* cannot be the end of a range, as in %s", shown(whole.text))
	case w.text[0] == 'H' || w.text[0] == 'h':
		return 0, r.fault(w, "%s: hashed values (H) are not supported", shown(w.text))
	case f.names == nil:
		return 0, r.fault(w, "%s is not a number", shown(w.text))
	}
	fault := r.fault(w, "%s is neither a number nor a name", shown(w.text))
	fault.Suggestion = f.nearest(w.text)
	return 0, fault
}

func cut(text string) string {
	if len(text) > mostRead {
		return text[:mostRead] + "…"
	}
	return text
}

// nearest returns the name that a longer or a mistyped word most likely means.
func (f *field) nearest(text string) string {
	if len(text) < 3 || len(text) > 9 {
		return ""
	}
	for _, name := range f.names {
		if strings.EqualFold(text[:3], name) {
			return name
		}
	}
	return ""
}

// extra reads the elements only some fields take; done is false when it is none.
func (r *reader) extra(w word) (done bool, err *Error) {
	f, days := r.f, &r.e.days
	upper := strings.ToUpper(w.text)
	if len(upper) != len(w.text) { // a letter outside ASCII: none of ours
		return false, nil
	}
	switch {
	case f.extra&extraLast != 0 && upper == "LAST":
		days.fromLast |= 1
		r.texts = append(r.texts, "last")
		return true, nil
	case f.extra&extraL != 0:
		return r.dayExtra(w, upper)
	case f.extra&extraWeekL != 0:
		return r.weekdayExtra(w, upper)
	}
	return false, nil
}

// dayExtra reads L, L-n, LW and nW.
func (r *reader) dayExtra(w word, upper string) (done bool, err *Error) {
	days := &r.e.days
	rest, isLast := strings.CutPrefix(upper, "L")
	before, isNearest := strings.CutSuffix(upper, "W")
	switch {
	case upper == "L":
		days.fromLast |= 1
	case upper == "LW":
		days.lastFull = true
	case isLast && strings.HasPrefix(rest, "-"):
		n, ok := number(rest[1:])
		if !ok || n < 1 || n > 30 {
			fault := r.fault(w, "%s does not count back from the last day", shown(w.text))
			fault.Accepted = "L-1 to L-30, and L for the last day"
			return true, fault
		}
		days.fromLast |= 1 << n
		upper = "L-" + itoa(n)
	case isNearest && digits(before):
		n, ok := number(before)
		if !ok || n < 1 || n > 31 {
			fault := r.fault(w, "%s is out of range", cut(w.text))
			fault.Accepted = "1W to 31W, LW"
			return true, fault
		}
		days.nearest |= 1 << n
		upper = itoa(n) + "W"
	default:
		return false, nil
	}
	r.texts = append(r.texts, upper)
	return true, nil
}

// weekdayExtra reads d#n and dL.
func (r *reader) weekdayExtra(w word, upper string) (done bool, err *Error) {
	f, days := r.f, &r.e.days
	if name, week, found := strings.Cut(upper, "#"); found {
		d, err := r.value(word{w.text[:len(name)], w.column}, w)
		if err != nil {
			return true, err
		}
		n, ok := number(week)
		if !ok || n < 1 || n > 5 {
			fault := r.fault(word{week, w.column + len(name) + 1}, "there is no week %s of a month", shown(week))
			fault.Accepted = "#1 to #5"
			return true, fault
		}
		days.nth |= 1 << (7*(n-1) + f.bit(d))
		r.texts = append(r.texts, f.text(d)+"#"+itoa(n))
		return true, nil
	}
	name, found := strings.CutSuffix(upper, "L")
	if !found {
		return false, nil
	}
	if name == "" {
		fault := r.fault(w, "L alone is not a weekday")
		fault.Suggestion = "friL for the last Friday, or L in the day field for the last day"
		return true, fault
	}
	d, err := r.value(word{w.text[:len(name)], w.column}, w)
	if err != nil {
		return true, err
	}
	days.lastDow |= 1 << f.bit(d)
	r.texts = append(r.texts, f.text(d)+"L")
	return true, nil
}
