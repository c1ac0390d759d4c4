package trigger_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// dates walks a chain of dates with the calendar of package time, one by one, and appends them to a list.
func dates(list []time.Time, first time.Time, months, days int, until time.Time) []time.Time {
	for at := first; !at.After(until) && at.Year() < 10000; {
		list = append(list, at)
		if months > 0 {
			dom := at.Day()
			for n := months; ; n += months {
				moved := time.Date(at.Year(), at.Month()+time.Month(n), dom, 0, 0, 0, 0, time.UTC)
				if moved.Year() > 9999 {
					return list
				}
				if moved.Day() == dom {
					at = moved
					break
				}
			}
		}
		at = at.AddDate(0, 0, days)
	}
	return list
}

func TestChainsOfDatesAgreeWithAWalkOverThem(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	end := time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC)
	steps := [][2]int{{1, 0}, {12, 0}, {1200, 0}, {4800, 0}, {2400, 0}, {5, 0}, {0, 1}, {0, 366}, {0, 146097}, {0, 200000}, {1, 1}, {12, 1}, {7, 30}, {13, 400}}
	var list []time.Time // up to three million, in the same place each time
	for i := range 120 {
		step := steps[i%len(steps)]
		if i >= 3*len(steps) {
			step = [2]int{r.IntN(2) * r.IntN(30), r.IntN(2) * r.IntN(100)}
		}
		if step == [2]int{} {
			step[1] = 1
		}
		first := time.Date(1900+r.IntN(200), time.Month(1+r.IntN(12)), 25+r.IntN(7), 0, 0, 0, 0, time.UTC)
		if i%3 == 0 {
			first = time.Date(1904+4*r.IntN(40), 2, 29, 0, 0, 0, 0, time.UTC)
		}
		until := first.AddDate(2+r.IntN(300), 0, 0)
		if i%5 == 0 {
			until = end
		}
		list = dates(list[:0], first, step[0], step[1], until)
		trig, err := trigger.Calendar(trigger.CalendarOptions{Months: step[0], Days: step[1], Zone: time.UTC, StartText: first.Format(time.DateOnly)})
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d months and %d days from %s", step[0], step[1], first.Format(time.DateOnly))
		for range 30 {
			at := r.IntN(len(list))
			before := list[at].Add(-time.Nanosecond)
			if got, ok := trig.Next(before); !ok || !got.Equal(list[at]) {
				t.Fatalf("%s: Next(%v) = %v %v, want %v", what, before, got, ok, list[at])
			}
			if got, ok := trig.Prev(list[at].Add(time.Nanosecond)); !ok || !got.Equal(list[at]) {
				t.Fatalf("%s: Prev after %v = %v %v", what, list[at], got, ok)
			}
			next := list[at].AddDate(0, 0, 1)
			follows := at+1 < len(list) && list[at+1].Equal(next)
			if !trig.Matches(list[at]) || trig.Matches(next) != follows && !next.After(until) { // the list ends there
				t.Fatalf("%s: Matches at %v and the day after", what, list[at])
			}
			if at > 0 {
				if got, ok := trig.Prev(list[at]); !ok || !got.Equal(list[at-1]) {
					t.Fatalf("%s: Prev(%v) = %v %v, want %v", what, list[at], got, ok, list[at-1])
				}
				from := r.IntN(at)
				if n := trig.Count(list[from], list[at]); n != int64(at-from) {
					t.Fatalf("%s: Count(%v, %v) = %d, want %d", what, list[from], list[at], n, at-from)
				}
			}
		}
		if got, ok := trig.Prev(list[0]); ok {
			t.Fatalf("%s: Prev of the first is %v", what, got)
		}
		if until == end {
			if got, ok := trig.Next(list[len(list)-1]); ok {
				t.Fatalf("%s: after the last date of the year 9999 comes %v", what, got)
			}
		}
	}
}

// A said is a trigger with its wall times by another road.
type said struct {
	text    string
	trig    ruqi.Stepper
	matches func(time.Time) bool
	starred bool
}

// randomSaying makes words or a calendar that concern a day.
func randomSaying(t *testing.T, r *rand.Rand, day time.Time, loc *time.Location, gap trigger.Gap, fold trigger.Fold) said {
	t.Helper()
	secs := map[int]bool{}
	var texts []string
	for range 1 + r.IntN(3) {
		hour, minute := r.IntN(24), r.IntN(60)
		if r.IntN(3) > 0 {
			hour = r.IntN(4)
		}
		secs[hour*3600+minute*60] = true
		texts = append(texts, fmt.Sprintf("%02d:%02d", hour, minute))
	}
	at := func(w time.Time) bool { return secs[w.Hour()*3600+w.Minute()*60+w.Second()] }
	o := trigger.EveryOptions{Zone: loc, Gap: gap, Fold: fold}
	s := said{}
	switch r.IntN(5) {
	case 0:
		on := map[time.Weekday]bool{}
		var names []string
		for range 1 + r.IntN(5) {
			weekday := time.Weekday(r.IntN(7))
			on[weekday] = true
			names = append(names, weekday.String())
		}
		s.text = "every " + strings.Join(names, " and ") + " at " + strings.Join(texts, ", ")
		s.matches = func(w time.Time) bool { return on[w.Weekday()] && at(w) }
	case 1:
		minute := r.IntN(60)
		s.text, s.starred = fmt.Sprintf("every hour at :%02d", minute), true
		s.matches = func(w time.Time) bool { return w.Minute() == minute && w.Second() == 0 }
	case 2:
		s.text = "every day at " + strings.Join(texts, ", ")
		s.matches = at
	default:
		// A chain that mostly hits the day.
		first := day.AddDate(0, -r.IntN(40), 0)
		months, days := 1+r.IntN(3), 0
		if r.IntN(2) == 0 {
			months, days = 0, 1+r.IntN(3)
		} else if r.IntN(3) == 0 {
			days = r.IntN(3)
		}
		on := map[time.Time]bool{}
		for _, d := range dates(nil, first, months, days, day.AddDate(0, 0, 4)) {
			on[d] = true
		}
		s.matches = func(w time.Time) bool { return on[w.Truncate(24*time.Hour)] && at(w) }
		o.StartText = first.Format(time.DateOnly)
		if months == 0 {
			s.text = fmt.Sprintf("every %d days at %s", days, strings.Join(texts, ", "))
			if days == 1 {
				s.matches = func(w time.Time) bool { return at(w) && !w.Before(first) }
			}
			break
		}
		minute := r.IntN(60)
		hour := r.IntN(4)
		s.text = fmt.Sprintf("%d months and %d days from %s at %02d:%02d", months, days, o.StartText, hour, minute)
		s.matches = func(w time.Time) bool {
			return on[w.Truncate(24*time.Hour)] && w.Hour() == hour && w.Minute() == minute && w.Second() == 0
		}
		trig, err := trigger.Calendar(trigger.CalendarOptions{Months: months, Days: days, Hour: hour, Minute: minute, StartText: o.StartText, Zone: loc, Gap: gap, Fold: fold})
		if err != nil {
			t.Fatalf("%s: %v", s.text, err)
		}
		s.trig = trig
		return s
	}
	trig, err := trigger.Words(s.text, o)
	if err != nil {
		t.Fatalf("%q: %v", s.text, err)
	}
	s.trig = trig
	return s
}

func TestCalendarsAndWordsAgreeWithAWalkOverRealMinutes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	gaps := []trigger.Gap{trigger.GapRunAfter, trigger.GapShift, trigger.GapSkip}
	folds := []trigger.Fold{trigger.FoldAuto, trigger.FoldFirst, trigger.FoldBoth, trigger.FoldSecond}
	fires := 0
	for _, name := range oracleZones {
		if name == "Africa/Monrovia" {
			continue // its changes are seconds, and this walk goes by minutes
		}
		loc := zone(t, name)
		changes := clockChanges(loc)
		for range 12 {
			day := time.Date(2040+4*r.IntN(15), 12, 31, 0, 0, 0, 0, time.UTC)
			if len(changes) > 0 && r.IntN(10) > 0 {
				day = changes[r.IntN(len(changes))]
			}
			from := day.Add(-time.Duration(r.IntN(20*60)) * time.Minute)
			until := day.Add(40 * time.Hour)
			gap, fold := gaps[r.IntN(len(gaps))], folds[r.IntN(len(folds))]
			s := randomSaying(t, r, day, loc, gap, fold)
			want := shownFires(s.matches, s.starred, loc, from, until, 60, gap, fold)
			compare(t, fmt.Sprintf("%s in %s, gap %s, fold %s", s.text, name, gap, fold), s.trig, from, until, want)
			fires += len(want)
		}
	}
	t.Logf("%d fire times compared", fires)
}

// spread is the hash of random intervals by the standard library's FNV.
func spread(seed string, k int64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed))
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(k)))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func TestRandomIntervalsKeepToTheirBounds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	for range 60 {
		least := int64(1 + r.IntN(50))
		most := least + int64(1+r.IntN(100))
		unit := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[r.IntN(4)]
		name := map[time.Duration]string{time.Second: "seconds", time.Minute: "minutes", time.Hour: "hours", 24 * time.Hour: "days"}[unit]
		anchor := time.UnixMicro(r.Int64N(2e15)).UTC()
		jobID := fmt.Sprintf("job-%d", r.IntN(1000))
		text := fmt.Sprintf("every %d to %d %s", least, most, name)
		bound, err := words(t, text).(ruqi.Binder).Bind(time.UTC, anchor, jobID)
		if err != nil {
			t.Fatal(err)
		}
		low, high := time.Duration(least)*unit, time.Duration(most)*unit
		var list []time.Time
		at := anchor
		for k := int64(1); k <= 200; k++ {
			offset := time.Duration(spread(jobID, k)%uint64((high-low).Microseconds()/2)) * time.Microsecond
			want := anchor.Add(time.Duration(k)*(low+high)/2 + offset)
			got, ok := bound.Next(at)
			if !ok || !got.Equal(want) {
				t.Fatalf("%s, fire %d: %v %v, want %v", text, k, got, ok, want)
			}
			if gap := got.Sub(at); gap < low || gap > high {
				t.Fatalf("%s, fire %d: %v after the one before", text, k, gap)
			}
			list, at = append(list, got), got
		}
		s := bound.(ruqi.Stepper)
		for range 100 {
			i := r.IntN(len(list))
			if n := s.Count(anchor, list[i]); n != int64(i+1) {
				t.Fatalf("%s: Count to fire %d is %d", text, i+1, n)
			}
			if got, ok := s.Prev(list[i]); ok != (i > 0) || ok && !got.Equal(list[i-1]) {
				t.Fatalf("%s: Prev of fire %d is %v %v", text, i+1, got, ok)
			}
		}
		far, ok := bound.Next(anchor.AddDate(5000, 0, 0))
		if !ok || far.Sub(anchor.AddDate(5000, 0, 0)) > high {
			t.Fatalf("%s: 5,000 years later comes %v %v", text, far, ok)
		}
	}
}

// Stored jobs depend on the hash, so that it can never change.
func TestRandomIntervalsStayAsTheyWere(t *testing.T) {
	trig, err := decode([]byte(`{"kind":"every","text":"every 5 to 10 minutes","anchor":"2026-03-01T12:00:00Z","seed":"backup","zone":"UTC"}`))
	if err != nil {
		t.Fatal(err)
	}
	got := next(trig, instant(t, "2026-03-01T12:00:00Z"), 4)
	want := []string{
		"2026-03-01T12:09:12.517787Z", "2026-03-01T12:16:25.806333Z", "2026-03-01T12:23:26.234741Z", "2026-03-01T12:31:05.106322Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
