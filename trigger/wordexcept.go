package trigger

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// What days are left out, as they are typed behind except.
type leftOut struct {
	on       weekdays
	holidays bool
	yearly   []string // --12-25
	dates    []string
	moved    string // the member else, empty for none
}

var (
	// excepting are words behind which days are left out.
	excepting = []string{"except", "excepting", "excluding", "exclude", "without", "unless", "but", "not", "no", "minus", "skip", "skipping"}
	// among are words that may stand between those days.
	among = append([]string{",", "and", "or", "on", "for", "the", "a", "an", "any", "all", "every", "each", "it", "is", "it's", "if", "public", "bank", "national"}, excepting...)
)

// exception returns the place of the first word behind which days are left out, -1 where there is none.
func exception(list []string) int {
	for i, w := range list {
		next := ""
		if i+1 < len(list) {
			next = list[i+1]
		}
		if slices.Contains(excepting, w) || next == "than" && w == "other" || next == "from" && (w == "apart" || w == "aside") {
			return i
		}
	}
	return -1
}

func textsOf(list []word) []string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = w.text
	}
	return texts
}

// leaving says of words that leave days out how they are written: as words that name the other days, or as a trigger of kind except. It is
// nil for other words.
func (wrong *wordError) leaving(text string, list []word) error {
	at := exception(textsOf(list))
	if at < 0 {
		return nil
	}
	column := list[at].column
	say := func(format string, args ...any) *wordError {
		return &wordError{column: column, wanted: fmt.Sprintf(format, args...), complete: true}
	}
	none := say("the words leave no days out: that is a kind except, of the trigger that has them, with the days as its not")
	if _, err := readTyped(list); err != nil {
		return err
	}
	until, list := cutUntil(text, list)
	if _, _, err := readOnce("every day" + until); err != nil { // an end that is wrong is in nothing that is suggested
		return none
	}
	texts := plainly(list)
	left := exception(texts)
	if left < 0 {
		return none
	}
	days, rest, ok := readLeftOut(texts[left:], left == 0)
	base := texts[:left]
	for len(base) > 0 && (base[len(base)-1] == "," || base[len(base)-1] == "and") {
		base = base[:len(base)-1]
	}
	switch {
	case !ok:
		return none
	case len(rest) == 0:
	case len(base) == 0:
		base = rest
	case rest[0] == "at" && !slices.Contains(base, "at"):
		base = slices.Concat(base, rest)
	default:
		return none
	}
	s, of, ok := daysOf(base, until, &days)
	switch {
	case !ok || days.on == everyDay || s.on != 0 && s.on&^days.on == 0:
		return none
	case of == "" && days.weekly():
		s.on &^= days.on
		wrong.whole, wrong.instead = s.text()+until, ""
		return wrong
	case of == "":
		of = s.as(until)
	}
	return say(`the words leave no days out: that is a kind except, {"kind":"except","of":%s,"not":[%s]%s}`, of, days.not(), days.moved)
}

// weekly reports whether nothing but weekdays is left out.
func (d *leftOut) weekly() bool {
	return !d.holidays && d.yearly == nil && d.dates == nil && d.moved == ""
}

// cutUntil takes until and its date out of the words.
func cutUntil(text string, list []word) (until string, rest []word) {
	i := slices.IndexFunc(list, func(w word) bool { return w.text == "until" || w.text == "till" })
	if i < 0 || i+1 >= len(list) {
		return "", list
	}
	end, to := len(list), len(text)
	if n := exception(textsOf(list[i:])); n >= 0 {
		end, to = i+n, list[i+n].column-1
	}
	until = " until " + strings.Trim(text[list[i+1].column-1:to], " ,\t\r\n")
	return until, slices.Concat(list[:i], list[end:])
}

// readLeftOut reads the days behind except, and what comes after them; in front, every begins the days of which they are left out.
func readLeftOut(texts []string, front bool) (d leftOut, rest []string, ok bool) {
	r := looseReader{wordReader: wordReader{rest: asWords(texts)}}
	for len(r.rest) > 0 {
		next := r.peek()
		if front && ok && (next == "every" || next == "each") {
			break
		}
		if slices.Contains(among, next) {
			r.skip(next)
			continue
		}
		if ok && d.move(&r.wordReader) {
			break
		}
		switch {
		case (next == "other" || next == "apart" || next == "aside") && !ok:
			r.rest = r.rest[min(2, len(r.rest)):]
			continue
		case isHoliday(r.rest[0]):
			r.skip(next)
			d.holidays, ok = true, true
			continue
		}
		if on, named := r.weekdays(); named {
			d.on, ok = d.on|on, true
			continue
		}
		if date, is := dateOf(next); is && len(date) == len("2026-12-25") {
			r.skip(next)
			d.dates, ok = append(d.dates, date), true
			continue
		}
		var s saying
		day := r.wordReader
		if day.readDate(&s) != nil {
			break
		}
		r.wordReader = day
		d.yearly, ok = append(d.yearly, fmt.Sprintf("--%02d-%02d", s.dates.month, bits.TrailingZeros32(s.dates.dom))), true
	}
	return d, textsOf(r.rest), ok
}

// move reads then the next working day.
func (d *leftOut) move(r *wordReader) bool {
	after := *r
	after.skip("then")
	after.skip("on")
	after.skip("the")
	otherwise := map[string]string{"next": "next", "following": "next", "previous": "previous", "last": "previous"}[after.peek()]
	if otherwise == "" || after.word(1) != "working" && after.word(1) != "business" || after.word(2) != "day" {
		return false
	}
	d.moved, d.on, d.holidays = `,"else":"`+otherwise+`"`, d.on|1<<0|1<<6, true
	after.rest = after.rest[3:]
	*r = after
	return true
}

// not returns what is left out as the member not.
func (d *leftOut) not() string {
	var members, list []string
	for _, day := range mondayFirst {
		if d.on>>day&1 != 0 {
			list = append(list, `"`+weekdayNames[day][:3]+`"`)
		}
	}
	put := func(name string, list []string) {
		if len(list) > 0 {
			members = append(members, `"`+name+`":[`+strings.Join(list, ",")+`]`)
		}
	}
	quoted := func(list []string) []string {
		texts := make([]string, len(list))
		for i, text := range list {
			texts[i] = `"` + text + `"`
		}
		return texts
	}
	put("weekdays", list)
	put("dates", quoted(d.dates))
	put("yearly", quoted(d.yearly))
	var not []string
	if members != nil {
		not = append(not, `{"days":{`+strings.Join(members, ",")+`}}`)
	}
	if d.holidays {
		not = append(not, `{"calendar":"holidays"}`)
	}
	return strings.Join(not, ",")
}

// daysOf reads the words of which days are left out. Where another kind than every says them, of is its JSON, and what it leaves out itself
// is added to days. A day without a time is 00:00 on the clock. Of days that never fire without some weekdays, on has the others.
func daysOf(base []string, until string, days *leftOut) (s saying, of string, ok bool) {
	list := asWords(base)
	if c := countingOf(list); c.working >= 0 || c.counted >= 0 {
		t, err := readTyped(list)
		t.months = append(t.months, c.months...)
		expr, rest := t.cron(c.dom, c.dow)
		if err != nil || rest != "" || until != "" || !c.says(list) {
			return s, "", false
		}
		if c.working >= 0 {
			if c.otherwise != "" && (days.on&mondayFriday != 0 || days.yearly != nil || days.dates != nil) {
				return s, "", false // the last working day but Fridays: that of another week, or none
			}
			days.on, days.holidays, days.moved = days.on|1<<0|1<<6, true, cmp.Or(days.moved, c.otherwise)
		}
		return saying{on: c.on}, `{"kind":"cron","expr":"` + expr + `"}`, true
	}
	whole, _ := again(strings.Join(base, " "), list)
	if whole == "" {
		return s, "", false
	}
	s, _, err := readOnce(whole)
	if err != nil || s.form.once() {
		return s, "", false
	}
	if s.form == formInterval && s.length == daySeconds*microsecond && slices.ContainsFunc(base, func(w string) bool { return w == "day" || w == "daily" || w == "everyday" || w == "days" }) {
		s = saying{form: formWeekdays, on: everyDay, secs: []int32{0}}
	}
	if s.form != formWeekdays {
		return s, `{"kind":"every","text":"` + s.text() + until + `"}`, true
	}
	return s, "", true
}

// as returns weekdays and their times as the trigger of which more is left out.
func (s *saying) as(until string) string {
	expr, rest := typed{secs: s.secs}.cron("*", dowField(s.on))
	if rest != "" || until != "" {
		return `{"kind":"every","text":"` + s.text() + until + `"}`
	}
	return `{"kind":"cron","expr":"` + expr + `"}`
}

// dowField returns the field of weekdays: mon-fri, or mon,fri; * for all.
func dowField(on weekdays) string {
	if on == everyDay {
		return "*"
	}
	var fields []string
	for i := 0; i < len(mondayFirst); i++ {
		day := mondayFirst[i]
		if on>>day&1 == 0 {
			continue
		}
		end := i
		for end+1 < len(mondayFirst)-1 && on>>mondayFirst[end+1]&1 != 0 { // sun is 0, and ends no range
			end++
		}
		field := weekdayNames[day][:3]
		if end-i >= 2 {
			field += "-" + weekdayNames[mondayFirst[end]][:3]
			i = end
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, ",")
}
