package cronexpr

import "slices"

// The fields a dialect may have. The order is that of Expr.Fields, not that of
// any dialect's text.
type unit uint8

const (
	second unit = iota
	minute
	hour
	day
	month
	weekday
	week // of ISO 8601
	year
	units // how many there are
)

var unitNames = [units]string{"second", "minute", "hour", "day", "month", "day_of_week", "week", "year"}

// An extra is an element that only some fields of some dialects take.
type extra uint8

const (
	extraQuestion extra = 1 << iota // ? for *, and written as *
	extraNoValue                    // ? for *, and written as ?
	extraLast                       // last: the last day of the month
	extraOrdinal                    // 1st fri to 5th fri, last fri
	extraL                          // L, L-n, LW and nW of the day field
	extraWeekL                      // dL and d#n of the weekday field
	extraHash                       // H, H/n, H(a-b), H(a-b)/n
	extraWrap                       // ranges that run over the end: 22-2
)

// An absence says what a field stands for that an expression leaves out.
type absence uint8

const (
	required absence = iota // it may not be left out
	absentMin
	absentStar
)

// A field is one column, or one keyword, of a dialect.
type field struct {
	unit     unit
	min, max int      // what * and a/n cover, inclusive
	top      int      // the highest number that may be written: 7 for a second Sunday
	base     int      // what is added to a number to get the bit: 1 for weekdays from Monday
	names    []string // names[i] stands for min+i
	last     int      // the value of a bare L; 0 for none
	extra    extra
	absent   absence
	accepted string // the range in words, for messages
}

// A Dialect says how a text is read.
type Dialect struct {
	// Name is how the user asks for it.
	Name string

	fields []field
	// keyed: the text is name=value words in any order. A field not given is * if
	// a later one of the list is given, else what its absence says.
	keyed bool
	// either: a date matches when either restricted day field does (Vixie cron).
	// A day field that begins with * restricts nothing by itself, so then both
	// must match. Without either, both must always match.
	either bool
	// oneDay: one of the two day fields must be * or ?.
	oneDay bool
	macros bool // @daily and its like
	zone   bool // TZ=Zone or CRON_TZ=Zone may stand in front
}

var (
	monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	fromSunday = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	fromMonday = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
)

// Years that a year field takes: those of APScheduler and, at the lower end, of
// Quartz, whose upper end moves with the present day.
const minYear, maxYear = 1970, 9999

// Crontab is the name of the default dialect.
const Crontab = "crontab"

// dialects is the table. Ranges and numbering: crontab(5) of Vixie and ISC cron
// for crontab, H as in Jenkins; the six fields of the original Ruqi service for
// ruqi; the keywords of APScheduler's CronTrigger, the most significant first, for
// fields; CronExpression of Quartz for quartz.
var dialects = []*Dialect{
	{
		Name: Crontab,
		fields: []field{
			{unit: second, max: 59, top: 59, extra: extraHash, absent: absentMin, accepted: "0-59"},
			{unit: minute, max: 59, top: 59, extra: extraHash, accepted: "0-59"},
			{unit: hour, max: 23, top: 23, extra: extraHash, accepted: "0-23"},
			{unit: day, min: 1, max: 31, top: 31, extra: extraQuestion | extraL | extraHash, accepted: "1-31, L, L-n, LW, nW, ?"},
			{unit: month, min: 1, max: 12, top: 12, names: monthNames, extra: extraHash, accepted: "1-12 or jan-dec"},
			{unit: weekday, max: 6, top: 7, names: fromSunday, extra: extraQuestion | extraWeekL | extraHash, accepted: "0-7 or sun-sat, 0 and 7 are Sunday, d#n, dL, ?"},
		},
		either: true,
		macros: true,
		zone:   true,
	},
	{
		Name: "ruqi",
		fields: []field{
			{unit: second, max: 59, top: 59, accepted: "0-59"},
			{unit: minute, max: 59, top: 59, accepted: "0-59"},
			{unit: hour, max: 23, top: 23, accepted: "0-23"},
			{unit: day, min: 1, max: 31, top: 31, extra: extraLast, accepted: "1-31 or last"},
			{unit: month, min: 1, max: 12, top: 12, names: monthNames, accepted: "1-12 or jan-dec"},
			{unit: weekday, max: 6, top: 6, base: 1, names: fromMonday, accepted: "0-6 or mon-sun, 0 is Monday"},
		},
	},
	{
		Name: "fields",
		fields: []field{
			{unit: year, min: minYear, max: maxYear, top: maxYear, absent: absentStar, accepted: "1970-9999"},
			{unit: month, min: 1, max: 12, top: 12, names: monthNames, absent: absentMin, accepted: "1-12 or jan-dec"},
			{unit: day, min: 1, max: 31, top: 31, extra: extraLast | extraOrdinal, absent: absentMin, accepted: "1-31, last, '1st mon' to '5th sun', 'last fri'"},
			{unit: week, min: 1, max: 53, top: 53, absent: absentStar, accepted: "1-53"},
			{unit: weekday, max: 6, top: 6, base: 1, names: fromMonday, absent: absentStar, accepted: "0-6 or mon-sun, 0 is Monday"},
			{unit: hour, max: 23, top: 23, absent: absentMin, accepted: "0-23"},
			{unit: minute, max: 59, top: 59, absent: absentMin, accepted: "0-59"},
			{unit: second, max: 59, top: 59, absent: absentMin, accepted: "0-59"},
		},
		keyed: true,
	},
	{
		Name: "quartz",
		fields: []field{
			{unit: second, max: 59, top: 59, extra: extraWrap, accepted: "0-59"},
			{unit: minute, max: 59, top: 59, extra: extraWrap, accepted: "0-59"},
			{unit: hour, max: 23, top: 23, extra: extraWrap, accepted: "0-23"},
			{unit: day, min: 1, max: 31, top: 31, extra: extraNoValue | extraL | extraWrap, accepted: "1-31, L, L-n, LW, nW, ?"},
			{unit: month, min: 1, max: 12, top: 12, names: monthNames, extra: extraWrap, accepted: "1-12 or jan-dec"},
			{unit: weekday, min: 1, max: 7, top: 7, base: 6, names: fromSunday, last: 7, extra: extraNoValue | extraWeekL | extraWrap, accepted: "1-7 or sun-sat, 1 is Sunday, d#n, dL, ?"},
			{unit: year, min: minYear, max: maxYear, top: maxYear, absent: absentStar, accepted: "1970-9999"},
		},
		oneDay: true,
	},
}

// macros are the names crontab(5) gives to common expressions.
var macros = []struct{ name, fields string }{
	{"@yearly", "0 0 1 1 *"},
	{"@annually", "0 0 1 1 *"},
	{"@monthly", "0 0 1 * *"},
	{"@weekly", "0 0 * * sun"},
	{"@daily", "0 0 * * *"},
	{"@midnight", "0 0 * * *"},
	{"@hourly", "0 * * * *"},
	{reboot, ""},
}

// reboot is the macro for each start, whatever the time.
const reboot = "@reboot"

// Lookup returns the dialect of that name, or nil.
func Lookup(name string) *Dialect {
	for _, d := range dialects {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Dialects returns the names of all dialects, the default first.
func Dialects() []string {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.Name
	}
	return names
}

// optional returns how many fields may be left out of a dialect without names:
// those in front or those at the end.
func (d *Dialect) optional() (front, end int) {
	for front < len(d.fields) && d.fields[front].absent != required {
		front++
	}
	for end < len(d.fields)-front && d.fields[len(d.fields)-1-end].absent != required {
		end++
	}
	return front, end
}

// keyword returns the field of that name, by its place in the list, or -1.
func (d *Dialect) keyword(name string) int {
	return slices.IndexFunc(d.fields, func(f field) bool { return unitNames[f.unit] == name })
}

// bit returns the bit that stands for a written number: for weekdays always 0
// for Sunday, for the others the number itself.
func (f *field) bit(value int) int {
	if f.unit == weekday {
		return (value + f.base) % 7
	}
	return value
}

// text appends the canonical spelling of a written number.
func (f *field) text(buf []byte, value int) []byte {
	if f.unit == weekday {
		return append(buf, fromSunday[f.bit(value)]...)
	}
	return appendInt(buf, value)
}

// spell is text for a message.
func (f *field) spell(value int) string { return string(f.text(nil, value)) }

// absentText is the canonical text of the field where it is left out.
func (f *field) absentText() string {
	if f.absent == absentStar {
		return "*"
	}
	return smallest[f.min]
}

// smallest are the minima of fields as texts that cost no allocation.
var smallest = [2]string{"0", "1"}

// symbols of ? that a field takes.
const anyQuestion = extraQuestion | extraNoValue
