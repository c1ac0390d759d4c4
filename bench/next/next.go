// Package next measures how long Ruqi and its peers take to find the fire times of a
// cron expression, forward and back, and to read one, in one process and one run, so that the load of the
// machine falls on all alike.
package next

import (
	"errors"
	"time"

	"github.com/adhocore/gronx"
	netresearch "github.com/netresearch/go-cron"
	"github.com/reugn/go-quartz/quartz"
	"github.com/robfig/cron/v3"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// An Expression is what is asked.
type Expression struct {
	Crontab string
	// Quartz is the same for engines of that dialect; empty where it cannot be said.
	Quartz string
	// Sparse expressions fire at rare dates, for which a search must look far.
	Sparse bool
}

// Expressions are the frequent, the daily, one in the hour of clock changes, both day fields, and rare dates.
var Expressions = []Expression{
	{"* * * * *", "0 * * * * ?", false},
	{"*/5 * * * *", "0 */5 * * * ?", false},
	{"30 2 * * *", "0 30 2 * * ?", false},
	{"0 9 * * 1-5", "0 0 9 ? * MON-FRI", false},
	{"30 4 1,15 * 5", "", false},
	{"0 0 31 * *", "0 0 0 31 * ?", false},
	{"0 0 1 1 *", "0 0 0 1 1 ?", true},
	{"59 23 31 12 *", "0 59 23 31 12 ?", true},
	{"0 0 29 2 *", "0 0 0 29 2 ?", true},
}

// Zones are where they are asked: one without clock changes and two with.
var Zones = []string{"UTC", "America/New_York", "Europe/Berlin"}

// An Ask answers one question: the fire time next to an instant.
type Ask func(at time.Time) time.Time

// A Reading is an expression that an engine has read. Back is nil where the engine only looks forward, Describe
// where it has no words.
type Reading struct {
	Next, Back Ask
	Describe   func() string
}

// An Engine finds fire times.
type Engine struct {
	Name string
	// Read reads the expression once, as a program does, where the engine can. errNoWay: it cannot say that.
	Read func(expr Expression, loc *time.Location) (Reading, error)
	// Parsed says that Read does the work of reading, and not Next each time.
	Parsed bool
	// Shown says that it is no peer: it gives wrong dates, and is shown with its answers only.
	Shown bool
}

var errNoWay = errors.New("the dialect cannot say that")

// Engines are Ruqi, first, and its peers.
var Engines = []Engine{
	{"ruqi", readRuqi, true, false},
	{"robfig/cron 3.0.1", readRobfig, true, false},
	{"adhocore/gronx 1.20.4", readGronx, false, false},
	{"netresearch/go-cron 0.9.1", readNetresearch, true, false},
	{"reugn/go-quartz 0.15.2", readQuartz, true, true},
}

func readRuqi(expr Expression, loc *time.Location) (Reading, error) {
	t, err := trigger.Cron(expr.Crontab, trigger.CronOptions{Zone: loc})
	if err != nil {
		return Reading{}, err
	}
	r := Reading{
		Next: func(after time.Time) time.Time {
			at, _ := t.Next(after)
			return at
		},
		Back: func(before time.Time) time.Time {
			at, _ := t.Prev(before)
			return at
		},
	}
	if d, ok := ruqi.Trigger(t).(ruqi.Describer); ok {
		r.Describe = func() string { return d.Describe(ruqi.English) }
	}
	return r, nil
}

func readRobfig(expr Expression, loc *time.Location) (Reading, error) {
	s, err := cron.ParseStandard("CRON_TZ=" + loc.String() + " " + expr.Crontab)
	if err != nil {
		return Reading{}, err
	}
	return Reading{Next: s.Next}, nil
}

// readGronx reads nothing: gronx has no parsed form in its API, and takes the text with each question.
func readGronx(expr Expression, loc *time.Location) (Reading, error) {
	return Reading{
		Next: func(after time.Time) time.Time {
			at, err := gronx.NextTickAfter(expr.Crontab, after.In(loc), false)
			if err != nil {
				return time.Time{}
			}
			return at
		},
		Back: func(before time.Time) time.Time {
			at, err := gronx.PrevTickBefore(expr.Crontab, before.In(loc), false)
			if err != nil {
				return time.Time{}
			}
			return at
		},
	}, nil
}

// netresearchParser reads crontab's two day fields as crontab does: either may match.
var netresearchParser = netresearch.MustNewParser(netresearch.Minute | netresearch.Hour | netresearch.Dom | netresearch.Month |
	netresearch.Dow | netresearch.DowOrDom)

func readNetresearch(expr Expression, loc *time.Location) (Reading, error) {
	s, err := netresearchParser.Parse("CRON_TZ=" + loc.String() + " " + expr.Crontab)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{Next: s.Next}
	if back, ok := s.(interface{ Prev(time.Time) time.Time }); ok {
		r.Back = back.Prev
	}
	return r, nil
}

func readQuartz(expr Expression, loc *time.Location) (Reading, error) {
	if expr.Quartz == "" {
		return Reading{}, errNoWay
	}
	t, err := quartz.NewCronTriggerWithLoc(expr.Quartz, loc)
	if err != nil {
		return Reading{}, err
	}
	return Reading{Next: func(after time.Time) time.Time {
		nanos, err := t.NextFireTime(after.UnixNano())
		if err != nil {
			return time.Time{}
		}
		return time.Unix(0, nanos).In(loc)
	}}, nil
}
