// Package next measures how long Ruqi and its peers take to find the next fire
// time of a cron expression, in one process and one run, so that the load of the
// machine falls on all alike.
package next

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"

	"github.com/ruqi-dev/ruqi/trigger"
)

// Expressions are what is asked: frequent, daily, both day fields, and the rare
// dates for which a search must look far.
var Expressions = []string{
	"* * * * *", "*/5 * * * *", "0 9 * * 1-5", "30 4 1,15 * 5",
	"0 0 29 2 *", "0 0 31 * *", "59 23 31 12 *",
}

// Zones are where they are asked: one without and one with clock changes.
var Zones = []string{"UTC", "America/New_York"}

// An Engine finds fire times.
type Engine struct {
	Name string
	// Prepare reads the expression once, as a program does, where the engine can.
	Prepare func(expr string, loc *time.Location) (func(after time.Time) time.Time, error)
}

// Engines are Ruqi, first, and its peers.
var Engines = []Engine{
	{"ruqi", func(expr string, loc *time.Location) (func(time.Time) time.Time, error) {
		t, err := trigger.Cron(expr, trigger.CronOptions{Zone: loc})
		if err != nil {
			return nil, err
		}
		return func(after time.Time) time.Time {
			at, _ := t.Next(after)
			return at
		}, nil
	}},
	{"robfig/cron 3.0.1", func(expr string, loc *time.Location) (func(time.Time) time.Time, error) {
		s, err := cron.ParseStandard("CRON_TZ=" + loc.String() + " " + expr)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
	// gronx has no parsed form in its API: it reads the text at each question.
	{"adhocore/gronx 1.20.4", func(expr string, loc *time.Location) (func(time.Time) time.Time, error) {
		return func(after time.Time) time.Time {
			at, err := gronx.NextTickAfter(expr, after.In(loc), false)
			if err != nil {
				return time.Time{}
			}
			return at
		}, nil
	}},
}

// From is the first question; the others are the answers. A chain of questions
// starts anew after chain answers, or past until: for all engines at the same dates.
var From = time.Date(2026, 11, 29, 12, 34, 56, 0, time.UTC)

const chain = 50

// until is where the standard library's zone tables end. Beyond, it works out the
// rules at each look, which would flatter Ruqi: it keeps what it has worked out.
var until = time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)

// Run asks n questions.
func Run(next func(time.Time) time.Time, n int) {
	at := From
	for i := range n {
		if at = next(at); i%chain == chain-1 || at.IsZero() || at.After(until) {
			at = From
		}
	}
}

// A Result is what one engine took for one expression in one zone.
type Result struct {
	Zone, Expr, Engine string
	// Median, Low and High are nanoseconds a question over the rounds.
	Median, Low, High float64
	// Allocs are allocations a question.
	Allocs float64
	// Differences is how many of the first 1,000 answers are not Ruqi's.
	Differences int
}

const (
	compared = 1000
	// slice is how long one engine runs at a stretch: long against the clock's
	// resolution, short against the changes of the machine's load.
	slice = 20 * time.Millisecond
)

// Measure asks every engine every expression in every zone, in turn, so many
// rounds.
func Measure(rounds int) ([]Result, error) {
	var results []Result
	for _, zone := range Zones {
		loc, err := trigger.LoadZone(zone)
		if err != nil {
			return nil, err
		}
		for _, expr := range Expressions {
			nexts := make([]func(time.Time) time.Time, len(Engines))
			counts := make([]int, len(Engines))
			took := make([][]float64, len(Engines))
			for i, e := range Engines {
				if nexts[i], err = e.Prepare(expr, loc); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", e.Name, expr, err)
				}
				counts[i] = calibrate(nexts[i])
			}
			for range rounds {
				for i := range Engines {
					start := time.Now()
					Run(nexts[i], counts[i])
					took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/float64(counts[i]))
				}
			}
			for i, e := range Engines {
				slices.Sort(took[i])
				results = append(results, Result{
					Zone: zone, Expr: expr, Engine: e.Name,
					Median: took[i][rounds/2], Low: took[i][0], High: took[i][rounds-1],
					Allocs:      testing.AllocsPerRun(10, func() { Run(nexts[i], chain) }) / chain,
					Differences: differences(nexts[0], nexts[i]),
				})
			}
		}
	}
	return results, nil
}

// calibrate returns how many questions fill a slice.
func calibrate(next func(time.Time) time.Time) int {
	for n := chain; ; n *= 2 {
		start := time.Now()
		Run(next, n)
		if took := time.Since(start); took > slice/4 {
			return max(chain, int(float64(n)*float64(slice)/float64(took)))
		}
	}
}

func differences(ours, theirs func(time.Time) time.Time) (n int) {
	at := From
	for range compared {
		want := ours(at)
		if want.IsZero() {
			break
		}
		if !theirs(at).Equal(want) {
			n++
		}
		at = want
	}
	return n
}

// Table writes the results as Markdown.
func Table(w io.Writer, results []Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Next fire time, ns a question: median (low-high); ratio to ruqi's median. %s, %d CPUs, %s/%s.\n\n",
		runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| zone | expression | engine | ns | ratio | allocs | other answers in 1,000 |\n|---|---|---|---|---|---|---|\n")
	var ours Result
	for _, r := range results {
		if r.Engine == Engines[0].Name {
			ours = r
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %.0f (%.0f-%.0f) | %.1f | %.0f | %d |\n",
			r.Zone, r.Expr, r.Engine, r.Median, r.Low, r.High, r.Median/ours.Median, r.Allocs, r.Differences)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
