package zonetable_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

var names = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Antarctica/Troll",
	"Africa/Monrovia", "America/Nuuk", "Asia/Gaza", "Europe/Dublin", "Asia/Tokyo", "Etc/GMT-14",
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// The changes are compared with a look at the clock at every hour.
func TestChangesAreWhatTheClockShows(t *testing.T) {
	from := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	until := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, name := range names {
		loc := load(t, name)
		changes := zonetable.Changes(loc, from, until)
		at := -1
		for hour := from; hour < until; hour += 3600 {
			for at+1 < len(changes) && changes[at+1].At <= hour {
				at++
			}
			if _, off := time.Unix(hour, 0).In(loc).Zone(); int64(off) != changes[at].Offset {
				t.Fatalf("%s: at %v the clock is %d s from UTC, the list says %+v", name, time.Unix(hour, 0).UTC(), off, changes[at])
			}
		}
		for i, c := range changes[1:] {
			_, before := time.Unix(c.At-1, 0).In(loc).Zone()
			_, after := time.Unix(c.At, 0).In(loc).Zone()
			if int64(before) != changes[i].Offset || int64(after) != c.Offset || before == after {
				t.Errorf("%s: %+v after %+v is no change: %d, then %d", name, c, changes[i], before, after)
			}
		}
	}
}

func TestASumIsOfWhatTheClockShows(t *testing.T) {
	sums := map[string]string{}
	for _, name := range names {
		sum := zonetable.Sum(load(t, name))
		if len(sum) != 8 {
			t.Errorf("%s: %q", name, sum)
		}
		if other, taken := sums[sum]; taken {
			t.Errorf("%s and %s have the sum %s", name, other, sum)
		}
		sums[sum] = name
		if again := zonetable.Sum(load(t, name)); again != sum {
			t.Errorf("%s: %s, then %s", name, sum, again)
		}
	}
	if a, b := zonetable.Sum(load(t, "Asia/Kolkata")), zonetable.Sum(time.FixedZone("another", 5*3600+1800)); a != b {
		t.Errorf("two clocks that have shown the same since 1970 have the sums %s and %s", a, b)
	}
	if a, b := zonetable.Sum(load(t, "Europe/Berlin")), zonetable.Sum(load(t, "Europe/Paris")); a == b {
		t.Error("Berlin and Paris differed until 1980, and have the same sum")
	}
}

func BenchmarkSum(b *testing.B) {
	loc := load(b, "America/New_York")
	for b.Loop() {
		zonetable.Sum(loc)
	}
}
