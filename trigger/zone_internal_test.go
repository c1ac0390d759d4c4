package trigger

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSpansAreWhatTheStandardLibrarySays is inside the package because spans are
// not seen from outside.
func TestSpansAreWhatTheStandardLibrarySays(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	first := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, name := range []string{
		"Europe/Berlin", "America/New_York", "Africa/Casablanca", "Pacific/Apia", "Asia/Tokyo", "Africa/Monrovia",
		"Australia/Lord_Howe", "America/Argentina/San_Luis", "Asia/Manila", "America/Juneau", "Europe/Dublin", "Etc/GMT-14",
	} {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		check := func(at int64) {
			s := z.find(at)
			if at < s.from || at >= s.to {
				t.Fatalf("%s: the span of %d is [%d, %d)", name, at, s.from, s.to)
			}
			if real := z.offset(at); s.off != real {
				t.Fatalf("%s: the offset at %d is %d, the span says %d", name, at, real, s.off)
			}
		}
		for range 20_000 {
			check(first + r.Int64N(last-first))
		}
		// From span to span: none missing, none without end, each change a real one.
		steps := 0
		for at := first; at < last; steps++ {
			s := z.find(at)
			check(s.from)
			check(s.to - 1)
			check((s.from + s.to) / 2)
			if s.before != s.off && (z.offset(s.begin-1) != s.before || z.offset(s.begin) != s.off) {
				t.Fatalf("%s: there is no change from %d to %d at %d", name, s.before, s.off, s.begin)
			}
			if s.after != s.off && (z.offset(s.end-1) != s.off || z.offset(s.end) != s.after) {
				t.Fatalf("%s: there is no change from %d to %d at %d", name, s.off, s.after, s.end)
			}
			if s.to <= at || steps > 2000 {
				t.Fatalf("%s: no way on from %d", name, at)
			}
			at = s.to
		}
	}
}

func (z *zone) offset(at int64) int64 {
	_, off := time.Unix(at, 0).In(z.loc).Zone()
	return int64(off)
}
