package next

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
)

// From is the first question; the others are the answers. A chain of questions
// starts anew after chain answers, or past the ends: for all engines at the same dates.
var From = time.Date(2026, 11, 29, 12, 34, 56, 0, time.UTC)

const chain = 50

// The ends of a chain. Past 2036 the standard library's zone tables end: it works out the
// rules at each look, which would flatter Ruqi, who keeps what it has worked out.
var (
	earliest = time.Date(1972, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Run asks n questions.
func Run(ask Ask, n int) {
	at := From
	for i := range n {
		if at = ask(at); i%chain == chain-1 || at.IsZero() || at.After(latest) || at.Before(earliest) {
			at = From
		}
	}
}

// A Question is what is measured.
type Question string

// The questions.
const (
	Forward      Question = "next"
	Backward     Question = "previous"
	Construction Question = "construction"
	Description  Question = "describe"
)

// A Result is what one engine took for one expression in one zone.
type Result struct {
	Question   Question
	Zone       string
	Expression Expression
	Engine     string
	// Median, Low and High are nanoseconds a question over the rounds.
	Median, Low, High float64
	// Allocs are allocations a question.
	Allocs float64
	// Differences is how many of the first 400 answers, between 1972 and 2104, are not Ruqi's.
	Differences int
}

// Answers are compared between 1972 and here, past 2100, which is no leap year.
var comparedUntil = time.Date(2105, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	compared = 400
	// slice is how long one engine runs at a stretch: long against the clock's
	// resolution, short against the changes of the machine's load.
	slice = 20 * time.Millisecond
)

// A contender is an engine at one question.
type contender struct {
	engine string
	run    func(n int)
	// answers is what is compared; nil where there is nothing to compare.
	answers Ask
}

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
			asked, err := contenders(expr, loc)
			if err != nil {
				return nil, err
			}
			for _, question := range []Question{Forward, Backward, Construction, Description} {
				for _, r := range contest(asked[question], rounds) {
					r.Question, r.Zone, r.Expression = question, zone, expr
					results = append(results, r)
				}
			}
		}
	}
	return results, nil
}

// contenders lets every engine read an expression.
func contenders(expr Expression, loc *time.Location) (map[Question][]contender, error) {
	all := map[Question][]contender{}
	add := func(q Question, c contender) { all[q] = append(all[q], c) }
	for _, e := range Engines {
		r, err := e.Read(expr, loc)
		if errors.Is(err, errNoWay) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", e.Name, expr.Crontab, err)
		}
		add(Forward, contender{e.Name, func(n int) { Run(r.Next, n) }, r.Next})
		if r.Back != nil {
			add(Backward, contender{e.Name, func(n int) { Run(r.Back, n) }, r.Back})
		}
		if e.Parsed {
			add(Construction, contender{e.Name, func(n int) {
				for range n {
					if _, err := e.Read(expr, loc); err != nil {
						panic(err) // it was read a moment ago
					}
				}
			}, nil})
		}
		if r.Describe != nil {
			add(Description, contender{e.Name, func(n int) {
				for range n {
					r.Describe()
				}
			}, nil})
		}
	}
	return all, nil
}

// contest measures the engines in turn; the first is Ruqi.
func contest(all []contender, rounds int) (results []Result) {
	counts := make([]int, len(all))
	took := make([][]float64, len(all))
	for i, c := range all {
		counts[i] = calibrate(c.run)
	}
	for range rounds {
		for i, c := range all {
			start := time.Now()
			c.run(counts[i])
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/float64(counts[i]))
		}
	}
	for i, c := range all {
		slices.Sort(took[i])
		r := Result{
			Engine: c.engine, Median: took[i][rounds/2], Low: took[i][0], High: took[i][rounds-1],
			Allocs: testing.AllocsPerRun(10, func() { c.run(chain) }) / chain,
		}
		if c.answers != nil {
			r.Differences = differences(all[0].answers, c.answers)
		}
		results = append(results, r)
	}
	return results
}

// calibrate returns how many questions fill a slice.
func calibrate(run func(n int)) int {
	for n := chain; ; n *= 2 {
		start := time.Now()
		run(n)
		if took := time.Since(start); took > slice/4 {
			return max(chain, int(float64(n)*float64(slice)/float64(took)))
		}
	}
}

func differences(ours, theirs Ask) (n int) {
	at := From
	for range compared {
		want := ours(at)
		if want.IsZero() || want.Before(earliest) || want.After(comparedUntil) {
			break
		}
		if !theirs(at).Equal(want) {
			n++
		}
		at = want
	}
	return n
}
