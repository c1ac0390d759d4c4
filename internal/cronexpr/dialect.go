package cronexpr

import "slices"

// The fields a dialect may have. The order is that of the bit sets in Expr, not
// that of any dialect's text.
type unit uint8

const (
	second unit = iota
	minute
	hour
	day
	month
	weekday
	units // how many there are
)

var unitNames = [units]string{"second", "minute", "hour", "day", "month", "day_of_week"}

// An extra is an element that only some fields of some dialects take.
type extra uint8

const (
	extraQuestion extra = 1 << iota // ? for *
	extraLast                       // last: the last day of the month
	extraL                          // L, L-n, LW and nW of the day field
	extraWeekL                      // dL and d#n of the weekday field
)

// A field is one column of a dialect.
type field struct {
	unit     unit
	min, max int      // what * and a/n cover, inclusive
	top      int      // the highest number that may be written: 7 for a second Sunday
	base     int      // what is added to a number to get the bit: 1 for weekdays from Monday
	names    []string // names[i] stands for min+i
	extra    extra
	accepted string // the range in words, for messages
}

// A Dialect says how a text is read.
type Dialect struct {
	// Name is how the user asks for it.
	Name string

	fields []field
	// optional is how many of the first fields may be left out together; a field
	// left out is its minimum.
	optional int
	// either: a date matches when either restricted day field does (Vixie cron).
	// A day field that begins with * restricts nothing by itself, so then both
	// must match. Without either, both must always match.
	either bool
	macros bool // @daily and its like
	zone   bool // TZ=Zone or CRON_TZ=Zone may stand in front
}

var (
	monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	fromSunday = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	fromMonday = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
)

// dialects is the table. Ranges and numbering: crontab(5) of Vixie and ISC cron
// for crontab; the six fields of the original Ruqi service for ruqi.
var dialects = []*Dialect{
	{
		Name: "crontab",
		fields: []field{
			{unit: second, max: 59, top: 59, accepted: "0-59"},
			{unit: minute, max: 59, top: 59, accepted: "0-59"},
			{unit: hour, max: 23, top: 23, accepted: "0-23"},
			{unit: day, min: 1, max: 31, top: 31, extra: extraQuestion | extraL, accepted: "1-31, L, L-n, LW, nW, ?"},
			{unit: month, min: 1, max: 12, top: 12, names: monthNames, accepted: "1-12 or jan-dec"},
			{unit: weekday, max: 6, top: 7, names: fromSunday, extra: extraQuestion | extraWeekL, accepted: "0-7 or sun-sat, 0 and 7 are Sunday, d#n, dL, ?"},
		},
		optional: 1,
		either:   true,
		macros:   true,
		zone:     true,
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
	i := slices.IndexFunc(dialects, func(d *Dialect) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return dialects[i]
}

// Dialects returns the names of all dialects, the default first.
func Dialects() []string {
	names := make([]string, len(dialects))
	for i, d := range dialects {
		names[i] = d.Name
	}
	return names
}

// bit returns the bit that stands for a written number: for weekdays always 0
// for Sunday, for the others the number itself.
func (f *field) bit(value int) int {
	if f.unit == weekday {
		return (value + f.base) % 7
	}
	return value
}

// text returns the canonical spelling of a written number.
func (f *field) text(value int) string {
	if f.unit == weekday {
		return fromSunday[f.bit(value)]
	}
	return itoa(value)
}
