// Package daycal has calendars: sets of days, such as the holidays of a country or the days on which a team does not work.
// The triggers of kind except and only ask them.
//
// A calendar is written as a JSON object. What its members name is put together:
//
//	{"dates":    ["2026-05-01", "2026-12-24/2027-01-01"],  single dates, and ranges with both ends
//	 "weekdays": ["sat", "sun"],                           every Saturday and Sunday
//	 "yearly":   ["--12-25", "--12-30/--01-02"],           dates and ranges of every year
//	 "union":    [{…}, {…}],                               all days of other calendars
//	 "without":  {…}}                                      but for the days of this one
//
// Parse reads it. A calendar is immutable and safe for concurrent use.
package daycal
