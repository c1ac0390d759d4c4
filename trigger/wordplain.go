package trigger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/internal/object"
)

var (
	numberWords = map[string]int{
		"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
		"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90,
	}
	ordinalWords = map[string]int{
		"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "twelfth": 12,
		"fifteenth": 15, "twentieth": 20, "thirtieth": 30,
	}
	oncePer = map[string]string{"minute": "minutely", "hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
	manyPer = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "hourly": time.Hour, "day": 24 * time.Hour, "daily": 24 * time.Hour}
	// shortened are short forms of words that are not accepted themselves.
	shortened = map[string]string{
		"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday", "sept": "september", "hr": "hour", "hrs": "hours", "secs": "seconds",
		"mo": "monday", "tu": "tuesday", "we": "wednesday", "th": "thursday", "fr": "friday", "sa": "saturday", "su": "sunday", "m-f": "mon-fri", "&": "and", "alternate": "other",
	}
	pleading = []string{"please", "run", "schedule", "repeat", "execute", "only"}
	through  = []string{"to", "through", "thru", "-", "–", "—"}
)

// A plainReader puts words that mean the same in the place of others, one after the other.
type plainReader struct {
	in  []string
	out []string
}

// plainWords are the texts of words, with those that are short forms of others in full, and without what pleads.
func plainWords(list []word) []string {
	texts := make([]string, 0, len(list))
	for _, w := range list {
		texts = append(texts, cmp.Or(shortened[w.text], w.text))
	}
	if n := len(texts); n > 0 {
		if last := texts[n-1]; last != "a.m." && last != "p.m." {
			texts[n-1] = strings.TrimRight(last, ".!")
		}
	}
	for len(texts) > 0 && slices.Contains(pleading, texts[0]) {
		texts = texts[1:]
	}
	return texts
}

// plainly says the words with those that are accepted, where they have the same meaning in whatever place.
func plainly(list []word) []string {
	p := plainReader{in: plainWords(list)}
	for len(p.in) > 0 {
		if !p.count() && !p.days() && !p.moment() {
			p.word()
		}
	}
	return p.out
}

// at returns a word ahead, empty after the end.
func (p *plainReader) at(i int) string {
	if i >= len(p.in) {
		return ""
	}
	return p.in[i]
}

// last returns the word that was said last, empty before the first.
func (p *plainReader) last() string {
	if len(p.out) == 0 {
		return ""
	}
	return p.out[len(p.out)-1]
}

// say puts words in the place of the next n.
func (p *plainReader) say(n int, said ...string) bool {
	p.in, p.out = p.in[n:], append(p.out, said...)
	return true
}

// begun reports whether what comes is what is repeated: there was nothing, or every.
func (p *plainReader) begun() bool { return len(p.out) == 0 || p.last() == "every" }

// word takes over a word.
func (p *plainReader) word() {
	next := p.at(0)
	switch {
	case next == "each":
		p.say(1, "every")
	case next == "single" && p.last() == "every", next == "," && (p.at(1) == "at" || p.at(1) == ""):
		p.say(1)
	case next == "other" && len(p.out) == 0:
		p.say(1, "every", "other")
	case next == "@" && p.at(1) != "":
		p.say(1, "at")
	case len(next) > 1 && next[0] == '@' && isTime(next[1:], p.at(1)):
		p.say(1, "at", next[1:])
	case dayNamed(next) >= 0 && (p.last() == "week" || p.last() == "weeks"):
		p.say(1, "on", next)
	case next == "and" && isLength(p.last()) && number(p.at(1)) && isLength(p.at(2)):
		p.say(1) // 1 hour and 30 minutes
	case next == "all" && p.at(1) == "days":
		p.say(2, "every", "day")
	case next == "half-hour" || next == "half-hourly":
		p.say(1, "30", "minutes")
	case numberWords[next] > 0:
		p.say(1, strconv.Itoa(numberWords[next]))
	case p.begun():
		p.say(1, adverbNear(strings.TrimPrefix(next, "@")))
	default:
		p.say(1, next)
	}
}

// adverbNear returns the adverb that a word is meant to be: daily for dayly; the word itself where it is meant for none.
func adverbNear(word string) string {
	if _, ok := adverbs[word]; ok || !strings.HasSuffix(word, "ly") && !strings.HasSuffix(word, "ley") {
		return word
	}
	// bimonthly is not monthly
	if near := object.Nearest(word, slices.Sorted(maps.Keys(adverbs))); near != "" && near[0] == word[0] {
		return near
	}
	return word
}

// count reads how often: once a day, twice an hour, every third day, every quarter of an hour, 5-10 minutes.
func (p *plainReader) count() bool {
	next := p.at(0)
	times, n := 0, 1
	switch {
	case next == "once":
		times = 1
	case next == "twice":
		times = 2
	case next == "thrice":
		times = 3
	case p.at(1) == "times":
		times, n = max(numberWords[next], asNumber(next)), 2
	}
	if times > 0 && p.begun() {
		return p.often(times, n)
	}
	_, isUnit := lengthUnits[strings.TrimSuffix(p.at(1), "s")]
	isUnit = isUnit || p.at(1) == "month" || p.at(1) == "year"
	nth := ordinalWords[next]
	if number := strings.TrimRight(next, "sthndr"); nth == 0 && number != "" && number != next {
		if nth, _ = strconv.Atoi(number); nth > 0 && ordinal(nth) != next {
			nth = 0
		}
	}
	if nth > 1 && isUnit && p.last() == "every" && p.at(2) != "of" {
		return p.say(2, strconv.Itoa(nth), strings.TrimSuffix(p.at(1), "s")+"s")
	}
	if next == "quarter" || next == "quarter-hour" {
		switch {
		case next == "quarter-hour":
			return p.say(1, "15", "minutes")
		case p.at(1) == "hour":
			return p.say(2, "15", "minutes")
		case p.at(1) == "of" && (p.at(2) == "an" || p.at(2) == "the") && p.at(3) == "hour":
			return p.say(4, "15", "minutes")
		case p.last() == "every":
			return p.say(1, "3", "months")
		}
	}
	if half := p.at(1) == "and" && p.at(2) == "a" && p.at(3) == "half"; half && p.last() == "every" && isLength(next) {
		return p.say(4, "1.5", next)
	} else if n := max(numberWords[next], asNumber(next)); half && n > 0 && isLength(p.at(4)) {
		return p.say(4, strconv.Itoa(n)+".5")
	}
	switch unit := p.at(1); {
	case unit == "h" && number(next):
		return p.say(2, next, "hours")
	case unit == "s" && number(next):
		return p.say(2, next, "seconds")
	}
	if unit := strings.TrimLeft(next, "0123456789"); unit != next && len(unit) > 1 && isLength(cmp.Or(shortened[unit], unit)) {
		return p.say(1, next[:len(next)-len(unit)], cmp.Or(shortened[unit], unit))
	}
	if low, high, ok := strings.Cut(next, "-"); ok && isUnit && number(low) && number(high) {
		return p.say(1, low, "to", high)
	}
	if _, unit := lengthUnits[strings.TrimSuffix(p.at(4), "s")]; next == "between" && unit && p.at(2) == "and" && number(p.at(1)) && number(p.at(3)) {
		return p.say(4, p.at(1), "to", p.at(3))
	}
	return false
}

// isLength reports whether a word is a unit of time.
func isLength(text string) bool {
	_, ok := lengthUnits[strings.TrimSuffix(text, "s")]
	return ok
}

// asNumber returns a whole number, 0 for what is none.
func asNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || !number(text) {
		return 0
	}
	return n
}

func number(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// often says how many times a day, n words, is written: as a length where it divides the time, or with the times of day that follow.
func (p *plainReader) often(times, n int) bool {
	if slices.Contains([]string{"a", "an", "per", "every", "each"}, p.at(n)) {
		n++
	} else if times == 1 && n == 1 {
		if rest := (wordReader{rest: asWords(p.in[1:])}); rest.moment() == "" {
			return false // once at 9:00
		}
		return p.say(1) // once at 2030-01-01 09:00
	}
	unit := p.at(n)
	if adverb := oncePer[unit]; times == 1 && adverb != "" {
		return p.say(n+1, adverb)
	}
	if times == 1 {
		return p.say(n, "every") // once every 5 minutes
	}
	per, ok := manyPer[unit]
	if !ok {
		return false
	}
	if p.at(n+1) == "at" && per == 24*time.Hour {
		r := wordReader{rest: asWords(p.in[n+1:])}
		if secs, err := r.typedTimes(); err == nil && len(secs) == times {
			return p.say(n+1, "every", "day")
		}
	}
	least := time.Minute
	if per == time.Minute {
		least = time.Second
	}
	if len(p.in) > n+1 || per/time.Duration(times)%least != 0 || per%time.Duration(times) != 0 {
		return false
	}
	if p.last() != "every" {
		p.out = append(p.out, "every")
	}
	each := per / time.Duration(times)
	switch {
	case each%time.Hour == 0:
		return p.say(n+1, strconv.Itoa(int(each/time.Hour)), "hours")
	case each%time.Minute == 0:
		return p.say(n+1, strconv.Itoa(int(each/time.Minute)), "minutes")
	}
	return p.say(n+1, strconv.Itoa(int(each/time.Second)), "seconds")
}

// asWords gives texts the form that is read; there is no place to be told.
func asWords(texts []string) []word {
	list := make([]word, len(texts))
	for i, text := range texts {
		list[i] = word{text, 1}
	}
	return list
}

// days reads mon-fri, and monday to friday.
func (p *plainReader) days() bool {
	next, end, n := p.at(0), "", 1
	if several := strings.Split(next, "/"); len(several) > 1 && !slices.ContainsFunc(several, func(day string) bool { return dayNamed(day) < 0 }) {
		return p.say(1, strings.Fields(strings.Join(several, " , "))...)
	}
	for _, sign := range []string{"..", "-", "–", "—"} {
		if first, last, ok := strings.Cut(next, sign); ok && end == "" {
			next, end = first, last
		}
	}
	if end == "" && slices.Contains(through, p.at(1)) {
		end, n = p.at(2), 3
	}
	if end == "" && next == "from" && slices.Contains(through, p.at(2)) {
		next, end, n = p.at(1), p.at(3), 4
	}
	first, last := dayNamed(next), dayNamed(end)
	if first < 0 || last < 0 || first == last {
		return false
	}
	var on weekdays
	for day := first; ; day = (day + 1) % 7 {
		on |= 1 << day
		if day == last {
			break
		}
	}
	return p.say(n, strings.Fields(strings.ReplaceAll(weekdayText(on), ",", " ,"))...)
}

// dayNamed returns the place of a weekday in weekdayNames, -1 for other words.
func dayNamed(name string) int {
	name = cmp.Or(shortened[name], name)
	one := strings.TrimSuffix(name, "s")
	return slices.IndexFunc(weekdayNames[:], func(full string) bool { return one == full || name == full[:3] })
}

// moment reads times of day and dates that are written in another way: 9 a.m., 9 o'clock, 31.12.2030, 5 minutes from now.
func (p *plainReader) moment() bool {
	next := p.at(0)
	switch {
	case next == "o'clock" || next == "o’clock" || next == "oclock":
		return p.say(1)
	case next == "a.m." || next == "a.m":
		return p.say(1, "am")
	case next == "p.m." || next == "p.m":
		return p.say(1, "pm")
	case next == "from" && p.at(1) == "now" && len(p.in) == 2:
		p.out = append([]string{"in"}, p.out...)
		return p.say(2)
	case next == "at" && len(p.out) == 0 && len(p.in) == 2 && timeWords[p.at(1)] != "":
		return p.say(2, "every", "day", "at", timeWords[p.at(1)])
	case p.clockWords():
		return true
	case next == "after" && len(p.out) == 0:
		return p.say(1, "in")
	case p.last() == "at" && number(next) && len(next) <= 2 && number(p.at(1)) && len(p.at(1)) == 2:
		return p.say(2, next+":"+p.at(1)) // 9 30
	case next == "on" && p.at(1) == "the" && p.at(2) == "hour" && p.last() == "hour":
		return p.say(3, "at", ":00")
	}
	for _, half := range []string{"a.m.", "p.m.", "a.m", "p.m"} {
		if time, ok := strings.CutSuffix(next, half); ok && time != "" {
			p.in[0] = time + half[:1] + "m"
			return p.moment()
		}
	}
	if date, ok := dateOf(next); ok && (len(p.out) == 0 || len(p.out) == 1 && (p.last() == "on" || p.last() == "at")) {
		p.out = nil
		if p.say(1, "at", date); p.at(0) == "at" {
			p.say(1)
		}
		return true
	}
	if before := p.last(); before != "" && !slices.Contains([]string{"at", "and", ",", "to", "from", "between", "in"}, before) && isTime(next, p.at(1)) {
		if _, date := dateOf(before); !date {
			return p.say(1, "at", next)
		}
	}
	return false
}

// clockWords reads half past nine, quarter to nine, and nine thirty behind at.
func (p *plainReader) clockWords() bool {
	hourOf := func(i int) int {
		if n := max(numberWords[p.at(i)], asNumber(p.at(i))); n <= 12 {
			return n
		}
		return 0
	}
	next := p.at(0)
	switch to := p.at(1) == "to"; {
	case next == "half" && p.at(1) == "past" && hourOf(2) > 0:
		return p.sayTime(3, hourOf(2), 30)
	case next == "quarter" && (to || p.at(1) == "past") && hourOf(2) > 0:
		if to {
			return hourOf(2) > 1 && p.sayTime(3, hourOf(2)-1, 45) // to one it is 12:45, or 00:45
		}
		return p.sayTime(3, hourOf(2), 15)
	case p.last() == "at" && 0 < numberWords[next] && numberWords[next] <= 12 && slices.Contains([]int{15, 30, 40, 45, 50}, numberWords[p.at(1)]):
		return p.sayTime(2, numberWords[next], numberWords[p.at(1)])
	}
	return false
}

// sayTime puts a time of day in the place of the next n words.
func (p *plainReader) sayTime(n, hour, minute int) bool {
	text := fmt.Sprintf("%02d:%02d", hour, minute)
	if p.last() == "at" {
		return p.say(n, text)
	}
	return p.say(n, "at", text)
}

// isTime reports whether a word can only be a time of day; after is the one that follows.
func isTime(text, after string) bool {
	if timeWords[text] != "" {
		return true
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return false
	}
	return strings.Contains(text, ":") || strings.HasSuffix(text, "am") || strings.HasSuffix(text, "pm") || number(text) && (after == "am" || after == "pm" || after == "a.m." || after == "p.m.")
}

// dateOf returns a date as it is accepted: itself, or 2030-12-31 for 31.12.2030.
func dateOf(text string) (string, bool) {
	if text == "" || text[0] < '0' || text[0] > '9' {
		return "", false
	}
	if upper := strings.ToUpper(text); len(text) >= len(time.DateOnly) {
		if _, err := parseMoment(upper); err == nil {
			return upper, true
		}
	}
	if at, err := time.Parse("2.1.2006", text); err == nil {
		return at.Format(time.DateOnly), true
	}
	at, err := time.Parse("2/1/2006", text)
	other, or := time.Parse("1/2/2006", text)
	switch {
	case err == nil && or == nil && !at.Equal(other):
		return "", false // 1/2/2030 is in January to some, in February to others
	case err == nil:
		return at.Format(time.DateOnly), true
	case or == nil:
		return other.Format(time.DateOnly), true
	}
	return "", false
}
