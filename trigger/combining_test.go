package trigger_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// linesOf decodes a file of testdata with one JSON object a line.
func linesOf[T any](t *testing.T, name string) (list []T) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, row)
	}
	if len(list) != rowCounts[name] {
		t.Fatalf("%s: %d rows, want %d", name, len(list), rowCounts[name])
	}
	return list
}

func TestCombiningGolden(t *testing.T) {
	type part struct{ Trigger, Expr string }
	type row struct {
		ID, TZ, From, Op string
		N                int
		Want             []string
		Triggers         []part
	}
	for _, r := range append(linesOf[row](t, "combining"), linesOf[row](t, "disputedcombining")...) {
		t.Run(r.ID, func(t *testing.T) {
			loc, err := trigger.LoadZone(r.TZ)
			if err != nil {
				t.Fatal(err)
			}
			var of []ruqi.Trigger
			for _, p := range r.Triggers {
				expr, o := p.Expr, trigger.ParseOptions{Zone: r.TZ}
				if p.Trigger == "cron" {
					o.Dialect = "ruqi"
					if strings.Contains(expr, "=") {
						o.Dialect = "fields"
					}
				}
				one, err := trigger.Parse(p.Trigger, expr, o)
				if err != nil {
					t.Fatal(err)
				}
				of = append(of, one)
			}
			from, err := time.Parse(time.RFC3339Nano, r.From)
			if err != nil {
				t.Fatal(err)
			}
			var combined ruqi.Binder = trigger.Any(of...)
			if r.Op == "and" {
				combined = trigger.All(of...)
			}
			start := time.Now()
			bound, err := combined.Bind(loc, from, "seed")
			if len(r.Want) == 0 {
				if err == nil {
					t.Fatalf("%v is not refused, though it never fires", bound)
				}
				if took := time.Since(start); took > 10*time.Second { // two are wanted; the race detector takes its own
					t.Errorf("it took %v to refuse it", took)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at := from
			for i, want := range r.Want {
				next, ok := bound.Next(at)
				if !ok || next.Format(time.RFC3339) != strings.Replace(want, "+00:00", "Z", 1) {
					t.Fatalf("number %d is %v %v, want %s", i, next, ok, want)
				}
				at = next
			}
			if next, ok := bound.Next(at); ok && len(r.Want) < r.N {
				t.Errorf("after the last comes %v", next)
			}
		})
	}
}

// TestSieveGolden holds except and only against rows that another program in another language made, going through all days one by one.
func TestSieveGolden(t *testing.T) {
	type row struct {
		ID, Says, From string
		Trigger        json.RawMessage
		Want           []string
	}
	decode := decoder(nil)
	for i, r := range linesOf[row](t, "sieve") {
		if want := fmt.Sprintf("sieve-%04d", i+1); r.ID != want {
			t.Errorf("row %d is %s, want %s: one is missing, or stands twice", i+1, r.ID, want)
		}
		t.Run(r.ID, func(t *testing.T) {
			one, err := decode(r.Trigger)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, r.From)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range r.Want {
				next, ok := one.Next(at)
				if !ok || next.Format(time.RFC3339) != want {
					t.Fatalf("%s: number %d is %v %v, want %s", r.Says, i, next, ok, want)
				}
				if prev, ok := one.(ruqi.Stepper).Prev(next.Add(time.Microsecond)); !ok || !prev.Equal(next) {
					t.Fatalf("%s: Prev right after %v is %v %v", r.Says, next, prev, ok)
				}
				at = next
			}
		})
	}
}
