package cronexpr

// Civil returns the date of a day number: 0 is 1970-01-01, in the proleptic Gregorian calendar. The years are 0 to 9999.
func Civil(day int64) (year, month, dom int) { return civil(day) }

// DayNumber returns the day number of a date; see Civil.
func DayNumber(year, month, dom int) int64 { return dayNumber(year, month, dom) }

// DaysIn returns the length of a month in days.
func DaysIn(year, month int) int { return daysIn(year, month) }

// Weekday returns the weekday of a day number, 0 = Sunday.
func Weekday(day int64) int { return weekdayOf(day) }

// FloorDay splits wall seconds into the day number and the second of the day.
func FloorDay(wall int64) (day int64, sod int) { return floorDay(wall) }
