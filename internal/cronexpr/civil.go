package cronexpr

// Civil dates as day numbers, 0 = 1970-01-01, in the proleptic Gregorian
// calendar. The method of counting years from March, so that the leap day is the
// last of its year, is described at
// https://howardhinnant.github.io/date_algorithms.html.

const (
	daySeconds = 86400
	cycleYears = 400
	// cycleDays: 400 Gregorian years hold 97 leap days; then the calendar,
	// weekdays included, repeats.
	cycleDays = 400*365 + 97
	// epochShift: the days from 0000-03-01 to 1970-01-01.
	epochShift = 719468
	// shiftCycles keeps day numbers positive for all years a time.Time in
	// years 0 to 9999 can hold, so that divisions may be unsigned.
	shiftCycles = 25
)

// civil returns the date of a day number.
func civil(day int64) (year, month, dom int) {
	n := uint64(day + epochShift + shiftCycles*cycleDays)
	cycle := n / cycleDays
	doc := uint32(n - cycle*cycleDays)                     // day of the cycle
	yoc := (doc - doc/1460 + doc/36524 - doc/146096) / 365 // year of the cycle
	doy := doc - (365*yoc + yoc/4 - yoc/100)               // day of the year from 1 March
	m := (5*doy + 2) / 153                                 // month from March
	year = int(yoc) + (int(cycle)-shiftCycles)*cycleYears
	dom = int(doy-(153*m+2)/5) + 1
	if m < 10 {
		return year, int(m) + 3, dom
	}
	return year + 1, int(m) - 9, dom
}

// dayNumber returns the day number of a date.
func dayNumber(year, month, dom int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	y := uint64(year + shiftCycles*cycleYears)
	cycle := y / cycleYears
	yoc := y - cycle*cycleYears
	doy := uint64((153*(month-3)+2)/5 + dom - 1)
	doc := yoc*365 + yoc/4 - yoc/100 + doy
	return (int64(cycle)-shiftCycles)*cycleDays + int64(doc) - epochShift
}

// weekdayOf returns the weekday of a day number, 0 = Sunday.
func weekdayOf(day int64) int {
	// 1970-01-01 was a Thursday; a whole number of weeks keeps it positive.
	return int(uint64(day+4+7*shiftCycles*cycleDays) % 7)
}

var monthDays = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// daysIn returns the length of a month in days.
func daysIn(year, month int) int {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

// floorDay splits wall seconds into the day number and the second of the day.
func floorDay(wall int64) (day int64, sod int) {
	day = wall / daySeconds
	sod = int(wall - day*daySeconds)
	if sod < 0 {
		day--
		sod += daySeconds
	}
	return day, sod
}
