package trigger_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A storedRow is a trigger as it was written by a release or by a user, and what it has meant since. Rows are added with a
// new kind or a new form of an old one; a row that stands is never changed, for stores hold such rows.
type storedRow struct {
	Stored json.RawMessage `json:"stored"`
	// Canonical is how it is written now; left out where that is as it was stored.
	Canonical json.RawMessage `json:"canonical"`
	After     string          `json:"after"`
	Fires     []string        `json:"fires"` // all there are, up to four
}

func storedRows(t testing.TB) (list []storedRow) {
	t.Helper()
	files, err := filepath.Glob("testdata/encodings/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			var r storedRow
			if err := json.Unmarshal(s.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v: %s", name, err, s.Bytes())
			}
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		t.Fatal("no stored triggers")
	}
	return list
}

func TestWhatWasStoredLoadsAsItWas(t *testing.T) {
	kinds := map[string]bool{}
	for _, r := range storedRows(t) {
		trig, err := decode(r.Stored)
		if err != nil {
			t.Errorf("%s: %v", r.Stored, err)
			continue
		}
		kinds[trig.Kind()] = true
		want := r.Canonical
		if want == nil {
			want = r.Stored
		}
		text, err := trig.MarshalJSON()
		if err != nil || string(text) != string(want) {
			t.Errorf("%s is written as\n%s, %v, want\n%s", r.Stored, text, err, want)
			continue
		}
		again, err := decode(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if twice, err := again.MarshalJSON(); err != nil || string(twice) != string(text) {
			t.Errorf("%s becomes %s, %v", text, twice, err)
		}
		for _, form := range []ruqi.Trigger{trig, again} {
			if got := next(form, instant(t, r.After), 4); !slices.Equal(got, r.Fires) {
				t.Errorf("%s after %s:\n got %v\nwant %v", r.Stored, r.After, got, r.Fires)
			}
		}
	}
	// Whoever registers a kind adds rows for it.
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	for _, kind := range registry.TriggerKinds() {
		if !kinds[kind] {
			t.Errorf("no stored trigger of kind %s in testdata/encodings", kind)
		}
	}
}

// TestEveryKindKeepsTheProperties asks at random moments: forward it is strictly later, back it is the inverse, counting agrees, and
// so does matching.
func TestEveryKindKeepsTheProperties(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	first, last := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for _, row := range storedRows(t) {
		trig, err := decode(row.Stored)
		if err != nil {
			t.Fatal(err)
		}
		fired := instant(t, row.After)
		for i := range 60 {
			from := time.UnixMicro(first + r.Int64N(last-first))
			switch i % 3 {
			case 0: // near what it does
				from = fired.Add(time.Duration(r.Int64N(int64(400 * 24 * time.Hour))))
			case 1:
				from = fired
			}
			if err := properties(trig, from, 8); err != nil {
				t.Errorf("%s: %v", row.Stored, err)
				break
			}
			if at, ok := trig.Next(from); ok {
				fired = at
			}
		}
	}
}

// properties checks n fire times after an instant.
func properties(trig ruqi.Trigger, from time.Time, n int) error {
	stepper, _ := trig.(ruqi.Stepper)
	matcher, _ := trig.(ruqi.Matcher)
	before := from
	for i := range n {
		at, ok := trig.Next(before)
		if !ok {
			break
		}
		if !at.After(before) {
			return fmt.Errorf("after %v comes %v", before, at)
		}
		if middle, ok := trig.Next(before.Add(at.Sub(before) / 2)); !ok || !middle.Equal(at) {
			return fmt.Errorf("after %v comes %v, but after the half of it comes %v %v", before, at, middle, ok)
		}
		if stepper != nil {
			if back, ok := stepper.Prev(at.Add(1)); !ok || !back.Equal(at) {
				return fmt.Errorf("right after %v, back is %v %v", at, back, ok)
			}
			back, ok := stepper.Prev(at)
			switch {
			case i > 0 && (!ok || !back.Equal(before)):
				return fmt.Errorf("before %v comes %v, but back is %v %v", at, before, back, ok)
			case i == 0 && ok && back.After(from):
				return fmt.Errorf("between %v and %v there is %v", from, at, back)
			}
			if got := stepper.Count(from, at); got >= 0 && got != int64(i+1) {
				return fmt.Errorf("Count(%v, %v) = %d, by walking it is %d", from, at, got, i+1)
			}
		}
		if matcher != nil {
			for _, near := range []time.Duration{-time.Second, -time.Microsecond, 0, time.Microsecond, time.Second, time.Hour} {
				probe := at.Add(near)
				found, ok := trig.Next(probe.Add(-1))
				if want := ok && found.Equal(probe); matcher.Matches(probe) != want {
					return fmt.Errorf("Matches(%v) = %v", probe, !want)
				}
			}
		}
		before = at
	}
	return nil
}
