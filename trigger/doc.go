// Package trigger has the kinds of triggers that come with Ruqi: cron, interval,
// date, calendar and every, and any, all, except and only, which are made of others. They are
// pure, immutable values, safe for concurrent use.
//
//	trigger.Crontab("30 2 * * mon-fri")          // in the zone of the scheduler
//	trigger.EveryDuration(90 * time.Second)      // from the moment the job is added
//	trigger.Every(5).To(10).Minutes()            // at random
//	trigger.Every(1).Monday().At("13:15")        // on the wall clock
//	trigger.Date(time.Now().Add(time.Hour))      // once
//
// These forms fit into a struct literal: what is wrong with them is told when
// the job is added (by Bind, as an *ruqi.InvalidError). Cron, Interval, Calendar and Words take
// options and return the error at once; Parse reads what a user typed.
//
// # Several triggers, and days off
//
// Any fires when one of its parts does: it is how a job has several triggers. All fires at the instants that its parts have in
// common. Except and Only hold a trigger against calendars (package daycal) and other triggers:
//
//	holidays, err := daycal.Parse(file)                    // JSON, .ics, or a year of holidays and make-up working days
//	trigger.Except(trigger.Crontab("0 9 * * *"), trigger.Days(holidays))
//
// A fire time on a day that is left out is skipped, or with Else moved to the nearest day that is not: the last working day of the month
// is the last day of it, else the one before that is not left out.
//
// A calendar can be kept under a name and changed while jobs use it: Named, and RegisterWith for their JSON.
//
// # Clock changes
//
// A cron expression with a fixed time of day runs once a day whatever the clock
// does: a time that a clock change leaves out runs at the first instant after the
// gap, a time that comes twice runs the first time. An expression whose hour,
// minute or second field begins with * follows the real clock. Gap and Fold say
// otherwise. A jump forward of more than three hours (the day that Samoa left out
// in 2011) is a correction of the calendar, and what it leaves out is not run.
//
// An interval is elapsed time: a day is 24 hours. The days of a calendar trigger, and of "every 3 days at 09:00", are those on the
// calendar.
//
// # Inspection
//
// Following, Previous, Between, First and Last list the fire times of any trigger, also of a kind from elsewhere; Matches says whether an
// instant is one of them, Explain why it is none, and Describe says in English or Chinese when the trigger fires.
package trigger
