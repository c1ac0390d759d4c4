package next_test

import (
	"testing"

	"github.com/ruqi-dev/ruqi/bench/next"
	"github.com/ruqi-dev/ruqi/trigger"
)

// BenchmarkNext asks each engine each expression in each zone.
func BenchmarkNext(b *testing.B) {
	for _, zone := range next.Zones {
		loc, err := trigger.LoadZone(zone)
		if err != nil {
			b.Fatal(err)
		}
		for _, expr := range next.Expressions {
			for _, e := range next.Engines {
				ask, err := e.Prepare(expr, loc)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(zone+"/"+expr+"/"+e.Name, func(b *testing.B) {
					b.ReportAllocs()
					next.Run(ask, b.N)
				})
			}
		}
	}
}

func TestTheReportHasEveryEngineAndExpression(t *testing.T) {
	results, err := next.Measure(1)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(next.Zones) * len(next.Expressions) * len(next.Engines); len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if r.Engine == next.Engines[0].Name && (r.Allocs != 0 || r.Differences != 0) {
			t.Errorf("%s in %s: ruqi allocates %v times and differs %d times from itself", r.Expr, r.Zone, r.Allocs, r.Differences)
		}
	}
}
