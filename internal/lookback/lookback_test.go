package lookback_test

import (
	"math"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/lookback"
)

// times is a list of times in order.
type times []time.Time

func (list times) Next(after time.Time) (time.Time, bool) {
	for _, at := range list {
		if at.After(after) {
			return at, true
		}
	}
	return time.Time{}, false
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestPrevAndMatches(t *testing.T) {
	list := times{at("0001-01-01T00:00:00Z"), at("2026-11-30T09:00:00Z"), at("2026-11-30T09:00:00.000001Z"), at("9999-12-31T23:59:59.999999Z")}
	for _, c := range []struct {
		before string
		want   int // in the list; -1 for none
	}{
		{"0001-01-01T00:00:00Z", -1},
		{"0001-01-01T00:00:00.000001Z", 0},
		{"2026-11-30T09:00:00Z", 0},
		{"2026-11-30T09:00:00.000000001Z", 1},
		{"2026-11-30T09:00:00.000001Z", 1},
		{"2026-11-30T09:00:00.000002Z", 2},
		{"9999-12-31T23:59:59.999999Z", 2},
		{"9999-12-31T23:59:59.9999999Z", 3},
	} {
		got, ok := lookback.Prev(list, at(c.before))
		if ok != (c.want >= 0) || ok && !got.Equal(list[c.want]) {
			t.Errorf("before %s: got %v, %v, want number %d", c.before, got, ok, c.want)
		}
	}
	if _, ok := lookback.Prev(times{}, at("2026-11-30T09:00:00Z")); ok {
		t.Error("there is a time before among none")
	}
	for _, fire := range list {
		if !lookback.Matches(list, fire) || lookback.Matches(list, fire.Add(1)) || lookback.Matches(list, fire.Add(-1)) {
			t.Errorf("%v does not match alone", fire)
		}
	}
	far := at("9999-12-31T23:59:59Z").AddDate(10, 0, 0)
	if got, ok := lookback.Prev(list, far); !ok || !got.Equal(list[3]) {
		t.Errorf("before the year 10009: %v, %v", got, ok)
	}
}

// searcher gives up after reach.
type searcher struct {
	times
	reach time.Duration
}

func (s searcher) Search(after time.Time) (at, until time.Time, ok bool) {
	if at, ok = s.Next(after); ok && at.Sub(after) > s.reach {
		return time.Time{}, after.Add(s.reach), false
	}
	return at, time.Time{}, ok
}

// knower says itself whether it gave up.
type knower struct {
	searcher
	gaveUp bool
}

func (k knower) GaveUp(time.Time) bool { return k.gaveUp }

func TestGaveUp(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	const years = 366 * 24 * time.Hour
	for what, c := range map[string]struct {
		trigger any
		want    bool
	}{
		"one that does not search":             {times{at.Add(-time.Hour)}, false},
		"one that has a time before":           {searcher{times{at.AddDate(-200, 0, 0)}, 290 * years}, true},
		"one that is searched to half the way": {searcher{times{at.Add(time.Hour)}, 200 * years}, true},
		"one that has none before":             {searcher{times{at.AddDate(-500, 0, 0), at}, math.MaxInt64}, false},
		"one that has none at all":             {searcher{}, false},
		"one that knows that it gave up":       {knower{searcher{}, true}, true},
		"one that knows that it did not":       {knower{searcher{times{at.AddDate(-200, 0, 0)}, 290 * years}, false}, false},
	} {
		if got := lookback.GaveUp(c.trigger, at); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
