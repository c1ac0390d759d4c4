package trigger

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
)

const intervalNames = "weeks= days= hours= minutes= seconds= start_date= end_date="

func parseInterval(text string, loc *time.Location, o ParseOptions) (ruqi.Trigger, error) {
	if len(text) > longestText {
		return nil, tooLong("/every", text)
	}
	var faults ruqi.Faults
	p := pairs{text: text, pointer: "/every", names: intervalNames, start: o.Start, end: o.End, at: map[string]pair{}}
	var every time.Duration
	if strings.Contains(text, "=") {
		every = p.interval(&faults)
	} else {
		var err error
		r := wordReader{words(text), len(text) + 1}
		if every, err = r.readLength("every"); err != nil {
			var e *wordError
			if errors.As(err, &e) && e.wanted == acceptedLength {
				e.wanted += ", or " + intervalNames
			}
			faults.Add("/every", text, "every: %v", err)
		}
		p.at["/every"] = pair{name: "every", column: 1}
	}
	if faults.Err() != nil {
		every = time.Hour // what it should be has been spoken of
	}
	t, err := Interval(every, IntervalOptions{Zone: loc, StartText: p.start, EndText: p.end})
	p.name(err, &faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// interval sums up the words of the form "hours=1 start_date=2026-01-01".
func (p *pairs) interval(faults *ruqi.Faults) (every time.Duration) {
	units := map[string]time.Duration{
		"weeks": duration.Week, "days": duration.Day, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second,
	}
	p.read(faults, func(w pair) bool {
		unit, known := units[w.name]
		if !known {
			return false
		}
		p.at["/every"] = w
		n, err := strconv.ParseInt(w.value, 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange) || strings.HasPrefix(w.value, "+"):
			w.fault(faults, "/every", w.valueColumn, "%q is not a whole number", clip(w.value))
		case n < 0:
			w.fault(faults, "/every", w.valueColumn, "%s is below zero", clip(w.value))
		case err != nil || n > int64(math.MaxInt64-every)/int64(unit):
			w.fault(faults, "/every", w.valueColumn, "%s is too much, 292 years are the most", clip(w.value))
		default:
			every += time.Duration(n) * unit
		}
		return true
	})
	return every
}
