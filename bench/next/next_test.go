package next_test

import (
	"strings"
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
				r, err := e.Read(expr, loc)
				if err != nil {
					b.Logf("%s: %s: %v", e.Name, expr.Crontab, err)
					continue
				}
				b.Run(zone+"/"+expr.Crontab+"/"+e.Name, func(b *testing.B) {
					b.ReportAllocs()
					next.Run(r.Next, b.N)
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
	count := map[next.Question]map[string]int{}
	for _, r := range results {
		if count[r.Question] == nil {
			count[r.Question] = map[string]int{}
		}
		count[r.Question][r.Engine]++
		asks := r.Question == next.Forward || r.Question == next.Backward
		if r.Engine == next.Engines[0].Name && asks && (r.Allocs != 0 || r.Differences != 0) {
			t.Errorf("%s of %s in %s: ruqi allocates %v times and differs %d times from itself", r.Question, r.Expression.Crontab, r.Zone, r.Allocs, r.Differences)
		}
	}
	all := len(next.Zones) * len(next.Expressions)
	for _, e := range next.Engines {
		want := all
		if e.Name == "reugn/go-quartz 0.15.2" { // it cannot say one of them
			want -= len(next.Zones)
		}
		if got := count[next.Forward][e.Name]; got != want {
			t.Errorf("%s has %d rows, want %d", e.Name, got, want)
		}
	}
	if n := count[next.Backward][next.Engines[0].Name]; n != all {
		t.Errorf("%d rows of previous, want %d", n, all)
	}
	if n := count[next.Construction]["robfig/cron 3.0.1"]; n != all {
		t.Errorf("%d rows of robfig's construction, want %d", n, all)
	}
	var b strings.Builder
	if err := next.Table(&b, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"best peer that is right", "rare dates", "### previous", "### construction"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// The summary is judged on made-up figures: one promise is broken at a time.
func TestTheSummarySeesABrokenPromise(t *testing.T) {
	const robfig = "robfig/cron 3.0.1"
	row := func(q next.Question, engine string, ns float64, differences int) next.Result {
		return next.Result{Question: q, Zone: "UTC", Expression: next.Expression{Crontab: "0 0 29 2 *", Sparse: true}, Engine: engine, Median: ns, Differences: differences}
	}
	for what, results := range map[string][]next.Result{
		"":             {row(next.Forward, "ruqi", 10, 0), row(next.Forward, robfig, 300, 0)},
		"right":        {row(next.Forward, "ruqi", 10, 0), row(next.Forward, robfig, 300, 3), row(next.Forward, "adhocore/gronx 1.20.4", 49, 0)},
		"rare dates":   {row(next.Forward, "ruqi", 10, 0), row(next.Forward, robfig, 199, 3)},
		"previous":     {row(next.Forward, "ruqi", 10, 0), row(next.Backward, "ruqi", 31, 0)},
		"construction": {row(next.Construction, "ruqi", 11, 0), row(next.Construction, robfig, 10, 0)},
		"describe":     {row(next.Description, "ruqi", 20_000, 0)},
	} {
		broken := []string{}
		for _, p := range next.Summary(results) {
			if !p.Kept {
				broken = append(broken, p.What)
			}
		}
		if what == "" && len(broken) > 0 || what != "" && (len(broken) != 1 || !strings.Contains(broken[0], what)) {
			t.Errorf("%q: broken are %q", what, broken)
		}
	}
}
