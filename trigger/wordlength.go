package trigger

import (
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

const (
	tooMuch        = "%s is too much, 292 years are the most"
	acceptedLength = "a length of time such as 5 minutes, 1 hour 30 minutes, 90s"
)

// digits returns the next word if it is a whole number.
func (r *wordReader) digits() (text string, ok bool) {
	text = r.peek()
	return text, text != "" && strings.Trim(text, "0123456789") == ""
}

// number reads a whole number of at least one.
func (r *wordReader) number() (n int64, isNumber bool, err error) {
	text, ok := r.digits()
	if !ok {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n > mostLength:
		return 0, true, r.refuse(tooMuch, clip(text))
	case n == 0:
		return 0, true, r.refuse("the length must be more than zero")
	}
	r.rest = r.rest[1:]
	return n, true, nil
}

// unit reads a unit of time, in the singular or plural.
func (r *wordReader) unit() (unit int64, ok bool) {
	length, ok := lengthUnits[strings.TrimSuffix(r.peek(), "s")]
	if ok {
		r.rest = r.rest[1:]
	}
	return length.Microseconds(), ok
}

// needUnit is unit where there must be one.
func (r *wordReader) needUnit(wanted string) (unit int64, err error) {
	unit, ok := r.unit()
	switch name := strings.TrimSuffix(r.peek(), "s"); {
	case ok:
		return unit, nil
	case name == "month" || name == "year":
		return 0, r.refuse("a %s has no fixed length: that is a kind calendar, %ss=2, or words with a day, every month on the 15th", name, name)
	}
	return 0, r.fail(wanted, unitWords...)
}

// short reads a length such as 1h30m; ok is false if the next word is none.
func (r *wordReader) short() (micros int64, ok bool, err error) {
	text := r.peek()
	if _, isNumber := r.digits(); isNumber {
		return 0, false, nil
	}
	length, err := duration.Parse(text)
	switch {
	case err != nil:
		return 0, false, nil
	case length == 0:
		return 0, true, r.refuse("the length must be more than zero")
	case length%time.Microsecond != 0:
		return 0, true, r.refuse("the length must be a whole number of microseconds")
	}
	r.rest = r.rest[1:]
	return length.Microseconds(), true, nil
}

// beginsLength reports whether the next word is one a length can begin with.
func (r *wordReader) beginsLength() bool {
	next := r.peek()
	return next != "" && next[0] >= '0' && next[0] <= '9'
}

// lengths reads 5 minutes, 1 hour 30 minutes, 1h30m, or 1h 30m, in sum more than zero.
func (r *wordReader) lengths() (total int64, err error) {
	begin := *r
	for first := true; first || r.beginsLength(); first = false {
		part, err := r.part()
		if err != nil {
			return 0, err
		}
		if part > mostLength-total {
			return 0, begin.refuse(tooMuch, "it")
		}
		total += part
	}
	if total == 0 {
		return 0, begin.refuse("the length must be more than zero")
	}
	return total, nil
}

// part reads one part of a length.
func (r *wordReader) part() (int64, error) {
	if micros, ok, err := r.short(); ok || err != nil {
		return micros, err
	}
	at := *r
	text, ok := r.digits()
	if !ok {
		if err := r.lengthHint(); err != nil {
			return 0, err
		}
		return 0, r.fail(acceptedLength)
	}
	r.rest = r.rest[1:]
	unit, err := r.needUnit(acceptedUnits)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > mostLength/unit {
		return 0, at.refuse(tooMuch, clip(text))
	}
	return n * unit, nil
}

// more reads the other parts of a length such as 1 hour 30 minutes.
func (r *wordReader) more(s *saying) error {
	if !r.beginsLength() {
		return nil
	}
	at := *r
	length, err := r.lengths()
	if err == nil && length > mostLength-s.length {
		err = at.refuse(tooMuch, "it")
	}
	s.length += length
	return err
}

// readLength reads all of a text that is a length: "5 minutes", "every hour", "1h30m"; from is what may stand in front. The error is a
// *wordError.
func (r *wordReader) readLength(from string) (time.Duration, error) {
	if len(r.rest) > 1 {
		r.skip(from)
	}
	var micros int64
	var err error
	if a, ok := adverbs[r.peek()]; ok && from == "every" && len(r.rest) == 1 {
		if a.months > 0 {
			return 0, r.refuse("%s", a.noLength())
		}
		return 0, r.instead(1, acceptedLength, a.length())
	}
	if unit, ok := r.unit(); ok {
		micros = unit
	} else if name := strings.TrimSuffix(r.peek(), "s"); name == "month" || name == "year" {
		_, err = r.needUnit("")
	} else {
		micros, err = r.lengths()
	}
	if err == nil && len(r.rest) > 0 {
		err = r.fail("nothing more")
	}
	return time.Duration(micros) * time.Microsecond, err
}

// inShort says how a length in words, 5 minutes or daily, is written in short: "; write 5m", or why it cannot be; empty for what is none.
func inShort(text string) string {
	list := words(text)
	if len(list) > 1 && list[0].text == "every" {
		list = list[1:]
	}
	if len(list) == 0 || len(text) > longestText {
		return ""
	}
	if a, ok := adverbs[list[0].text]; ok && len(list) == 1 {
		if a.months > 0 {
			return "; " + a.noLength()
		}
		list = words(a.length())
	}
	r := wordReader{rest: list}
	length, err := r.readLength("")
	if err != nil {
		return ""
	}
	return "; write " + duration.Format(length)
}
