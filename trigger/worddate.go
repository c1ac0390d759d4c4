package trigger

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// yearDate reads a date of one year at the beginning of words, in whatever form, and returns it as it is written: december 25, 2030 is
// 2030-12-25. It is empty for other words, and where day and month can be meant either way.
func (r *wordReader) yearDate() string {
	if date, ok := dateOf(r.peek()); ok {
		r.rest = r.rest[1:]
		return date
	}
	after := *r
	var s saying
	after.skip("the")
	if after.readDate(&s) != nil {
		return ""
	}
	after.skip(",")
	year := after.peek()
	if len(year) != len("2030") || !number(year) {
		return ""
	}
	date := fmt.Sprintf("%s-%02d-%02d", year, s.dates.month, bits.TrailingZeros32(s.dates.dom))
	if _, err := parseMoment(date); err != nil {
		return ""
	}
	after.rest = after.rest[1:]
	*r = after
	return date
}

// moment reads a date of one year, and its time in front of it or behind it, and returns them as they are written; empty for other words.
func (r *wordReader) moment() string {
	begin := *r
	secs, err := r.typedTimes()
	if err != nil || len(secs) > 1 {
		return ""
	}
	if len(secs) == 0 {
		*r = begin
		r.skip("at")
	}
	r.skip("on")
	date := r.yearDate()
	if date == "" || strings.Contains(date, "T") {
		*r = begin
		return ""
	}
	if len(secs) == 0 {
		after := *r
		after.skip(",")
		if next := after.peek(); next == "at" || isTime(next, after.word(1)) {
			if secs, err = after.typedTimes(); err != nil || len(secs) > 1 {
				*r = begin
				return ""
			}
			*r = after
		}
	}
	if len(secs) == 1 {
		date += " " + timeText(secs[0])
	}
	return date
}

// period says of a year or a month, where there should be a date, which dates are meant: a bare date has all of its
// day behind times of day, and ends at 00:00 behind a length of time. It is nil for other words.
func (r *wordReader) period(whole bool) *wordError {
	year, month, name := r.peek(), 1, "year"
	after := *r
	if named, ok := after.month(); ok {
		after.skip(",")
		year, month, name = after.peek(), named, "month"
	} else if first, last, ok := strings.Cut(year, "-"); ok && len(last) == 2 && number(last) {
		year, month, name = first, asNumber(last), "month"
	}
	if len(year) != len("2030") || !number(year) || month < 1 || month > 12 || asNumber(year) < 2 || asNumber(year) > 9998 {
		return nil
	}
	begin := time.Date(asNumber(year), time.Month(month), 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(1, 0, 0)
	if name == "month" {
		end = begin.AddDate(0, 1, 0)
	}
	if whole {
		begin, end = begin.AddDate(0, 0, -1), end.AddDate(0, 0, -1)
	}
	return r.refuse("a %s is no date: until %s is up to it, until %s with all of it", name, begin.Format(time.DateOnly), end.Format(time.DateOnly))
}

// onceAt says at december 25, 2030, 9am as it is written; empty for other words.
func onceAt(list []word) string {
	r := wordReader{rest: asWords(plainWords(list))}
	r.skip("once")
	if date := r.moment(); date != "" && len(r.rest) == 0 {
		return "at " + date
	}
	return ""
}

// hourBeat says 15 minutes past every hour as it is written; ok is false for other words.
func hourBeat(texts []string) (s saying, ok bool) {
	hour, minute, past, to := len(texts) > 0 && (texts[0] == "at" || strings.HasPrefix(texts[0], ":")), -1, false, false
	for i, w := range texts {
		before, after := "", ""
		if i > 0 {
			before = texts[i-1]
		}
		if i+1 < len(texts) {
			after = texts[i+1]
		}
		value := -1
		switch {
		case slices.Contains([]string{"at", "on", "every", "the", "of", "an"}, w):
		case w == "hour" || w == "hourly":
			hour = true
		case w == "minute" || w == "minutes" || w == "min" || w == "mins":
			if past = past || w == "minute" && number(after); !number(before) && !number(after) {
				return s, false
			}
		case w == "past" || w == "after":
			past = true
		case w == "to" || w == "before":
			to = true
		case w == "quarter":
			value = 15
		case w == "half" && after == "past":
			value = 30
		case len(w) == len(":15") && w[0] == ':' && number(w[1:]):
			value, past = asMinute(w[1:]), true
		case number(w) && before != "every":
			value = asMinute(w)
		default:
			return s, false
		}
		if value >= 0 && minute >= 0 || value > 59 {
			return s, false
		}
		minute = max(minute, value)
	}
	if to {
		minute = 60 - minute
	}
	if !hour || past == to || minute < 0 || minute > 59 {
		return s, false
	}
	return saying{form: formBeat, beat: beats{3600, int64(minute) * 60}}, true
}

// asMinute returns a whole number of at most two digits, 60 for others.
func asMinute(text string) int {
	if n, err := strconv.Atoi(text); err == nil && len(text) <= 2 {
		return n
	}
	return 60
}
