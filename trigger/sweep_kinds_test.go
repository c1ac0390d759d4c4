package trigger_test

import "slices"

// at is a condition on the hour and the minute.
func at(hour, minute int8, more ...func(f *face) bool) *wallModel {
	return &wallModel{shows: func(f *face) bool {
		for _, condition := range more {
			if !condition(f) {
				return false
			}
		}
		return f.hour == hour && f.minute == minute && f.second == 0
	}}
}

func onDays(days ...int8) func(f *face) bool {
	return func(f *face) bool { return slices.Contains(days, f.weekday) }
}

// kindRows are the other dialects and kinds.
var kindRows = []sweepRow{
	cronRow("fields", "hour=2 minute=30 day='last sun'", false, at(2, 30, onDays(0), func(f *face) bool { return f.day > f.monthDays-7 }).shows),
	cronRow("fields", "minute=*/15 week=13,44", true, func(f *face) bool {
		return f.second == 0 && f.minute%15 == 0 && (f.isoWeek == 13 || f.isoWeek == 44)
	}),
	cronRow("fields", "year=*/2 hour=1-3", false, func(f *face) bool {
		return f.second == 0 && f.minute == 0 && f.year%2 == 0 && f.hour >= 1 && f.hour <= 3
	}),
	cronRow("quartz", "0 30 22-2/2 ? * FRI-MON", false, func(f *face) bool {
		return f.second == 0 && f.minute == 30 && (f.hour == 22 || f.hour == 0 || f.hour == 2) && (f.weekday <= 1 || f.weekday >= 5)
	}),
	inSeconds(cronRow("quartz", "*/30 0/15 0,3 1W,L * ?", true, func(f *face) bool {
		return f.second%30 == 0 && f.minute%15 == 0 && (f.hour == 0 || f.hour == 3) && (f.day == f.monthDays || firstWorkday(f))
	})),
	decodeRow("calendar", `{"kind":"calendar","days":1,"hour":2,"minute":30,"start":"1970-01-01","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}`, allRules, at(2, 30)),
	decodeRow("calendar, weeks", `{"kind":"calendar","weeks":1,"hour":0,"start":"1970-01-04","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}`, allRules, at(0, 0, onDays(0))),
	decodeRow("calendar, months", `{"kind":"calendar","months":1,"hour":1,"minute":30,"start":"1970-01-31","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}`, allRules,
		at(1, 30, func(f *face) bool { return f.day == 31 })),
	decodeRow("every weekday", `{"kind":"every","text":"every sunday at 02:30","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}`, allRules, at(2, 30, onDays(0))),
	decodeRow("every hour", `{"kind":"every","text":"every hour at :30","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}`, allRules,
		&wallModel{follows: true, shows: func(f *face) bool { return f.minute == 30 && f.second == 0 }}),
	decodeRow("any", `{"kind":"any","of":[{"kind":"cron","expr":"30 2 * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q},
		{"kind":"cron","expr":"0 * * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}]}`, allRules,
		unionModel{at(2, 30), &wallModel{follows: true, shows: func(f *face) bool { return f.minute == 0 && f.second == 0 }}}),
	decodeRow("all", `{"kind":"all","of":[{"kind":"cron","expr":"*/15 * * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q},
		{"kind":"cron","expr":"0,10,30 1-3 * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}]}`, allRules,
		commonModel{
			&wallModel{follows: true, shows: func(f *face) bool { return f.minute%15 == 0 && f.second == 0 }},
			&wallModel{shows: func(f *face) bool {
				return f.second == 0 && (f.minute == 0 || f.minute == 10 || f.minute == 30) && f.hour >= 1 && f.hour <= 3
			}},
		}),
	decodeRow("except times", `{"kind":"except","of":{"kind":"cron","expr":"*/10 0-4 * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q},
		"not":[{"kind":"cron","expr":"30 2 * * *","zone":%[1]q,"gap":%[2]q,"fold":%[3]q}]}`, allRules,
		withoutModel{
			&wallModel{follows: true, shows: func(f *face) bool { return f.second == 0 && f.minute%10 == 0 && f.hour <= 4 }},
			at(2, 30),
		}),
	decodeRow("except days", `{"kind":"except","of":{"kind":"cron","expr":"0,30 * * * *","zone":%[1]q,"gap":"skip","fold":"both"},
		"not":[{"days":{"weekdays":["sat","sun"]}}]}`, allRules[:1],
		&wallModel{follows: true, shows: func(f *face) bool {
			return f.second == 0 && f.minute%30 == 0 && f.weekday >= 1 && f.weekday <= 5
		}}),
	decodeRow("only days", `{"kind":"only","of":{"kind":"cron","expr":"0,30 * * * *","zone":%[1]q,"gap":"skip","fold":"both"},
		"in":[{"days":{"weekdays":["sun"]}}]}`, allRules[:1],
		&wallModel{follows: true, shows: func(f *face) bool { return f.second == 0 && f.minute%30 == 0 && f.weekday == 0 }}),
}

// firstWorkday: 1W is the first, or the Monday after it when that is on a weekend, in the same month.
func firstWorkday(f *face) bool {
	switch f.day {
	case 1:
		return f.weekday >= 1 && f.weekday <= 5
	case 2, 3:
		return f.weekday == 1
	}
	return false
}
