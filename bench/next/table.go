package next

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// Table writes the results as Markdown: for each question what came out in short, then every figure.
func Table(w io.Writer, results []Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ns a question: median (low-high); ratio to ruqi's median. %s, %d CPUs, %s/%s. A peer is right where its first 400 answers are ruqi's, which `make test-tz` compares with clocks.\n",
		runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("\n| what | promise | measured | where |\n|---|---|---|---|\n")
	for _, s := range Summary(results) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.What, s.Promise, s.Measured, s.Where)
	}
	for _, question := range []Question{Forward, Backward, Construction, Description} {
		asked := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Question != question })
		if len(asked) > 0 {
			table(&b, question, asked)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, question Question, results []Result) {
	answers := question == Forward || question == Backward
	fmt.Fprintf(b, "\n### %s\n\n| zone | expression | engine | ns | ratio | allocs |", question)
	rule := "\n|---|---|---|---|---|---|"
	if answers {
		b.WriteString(" other answers in 400 |")
		rule += "---|"
	}
	b.WriteString(rule + "\n")
	var ours Result
	for _, r := range results {
		if r.Engine == Engines[0].Name {
			ours = r
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %.0f (%.0f-%.0f) | %.1f | %.0f |",
			r.Zone, r.Expression.Crontab, r.Engine, r.Median, r.Low, r.High, r.Median/ours.Median, r.Allocs)
		if answers {
			fmt.Fprintf(b, " %d |", r.Differences)
		}
		b.WriteString("\n")
	}
}

// A Promise is a figure that must hold for every expression in every zone, at the one where it is closest.
type Promise struct {
	What, Promise, Measured, Where string
	Kept                           bool
}

// worst finds the row with the lowest figure.
type worst struct {
	figure float64
	where  string
	any    bool
}

func (w *worst) see(figure float64, r Result, about string) {
	if !w.any || figure < w.figure {
		*w = worst{figure, fmt.Sprintf("`%s` in %s%s", r.Expression.Crontab, r.Zone, about), true}
	}
}

// Summary compares the results with what was promised.
func Summary(results []Result) (list []Promise) {
	type key struct {
		question   Question
		zone, expr string
		engine     string
	}
	by := map[key]Result{}
	for _, r := range results {
		by[key{r.Question, r.Zone, r.Expression.Crontab, r.Engine}] = r
	}
	var peer, shown, sparse, back, construction, words worst
	allocs := 0.0
	ruqi, robfig := Engines[0].Name, Engines[1].Name
	for _, r := range results {
		if r.Engine != ruqi {
			continue
		}
		of := func(q Question, engine string) (Result, bool) {
			found, ok := by[key{q, r.Zone, r.Expression.Crontab, engine}]
			return found, ok
		}
		switch r.Question {
		case Forward:
			allocs = max(allocs, r.Allocs)
			for _, e := range Engines[1:] {
				other, ok := of(Forward, e.Name)
				switch {
				case !ok || other.Differences != 0:
				case e.Shown:
					shown.see(other.Median/r.Median, r, ", "+e.Name)
				default:
					peer.see(other.Median/r.Median, r, ", "+e.Name)
				}
			}
			if other, ok := of(Forward, robfig); ok && r.Expression.Sparse {
				sparse.see(other.Median/r.Median, r, "")
			}
		case Backward:
			allocs = max(allocs, r.Allocs)
			if forward, ok := of(Forward, ruqi); ok {
				back.see(-r.Median/forward.Median, r, "")
			}
		case Construction:
			if other, ok := of(Construction, robfig); ok {
				construction.see(other.Median/r.Median, r, "")
			}
		case Description:
			words.see(-r.Median, r, "")
		}
	}
	add := func(w worst, what, promise, format string, figure float64, kept bool) {
		if w.any {
			list = append(list, Promise{what, promise, fmt.Sprintf(format, figure), w.where, kept})
		}
	}
	add(peer, "next, beside the best peer that is right", "at least 5 times", "%.1f times", peer.figure, peer.figure >= 5)
	add(shown, "next, beside go-quartz, which is no target, where it is right", "none", "%.1f times", shown.figure, true)
	add(sparse, "next of rare dates, beside robfig/cron", "at least 20 times", "%.1f times", sparse.figure, sparse.figure >= 20)
	add(back, "previous, beside next", "at most 3 times", "%.1f times", -back.figure, -back.figure <= 3)
	add(construction, "construction, robfig's time to ours", "at least 1", "%.1f", construction.figure, construction.figure >= 1)
	add(words, "describe, ns", "under 20000", "%.0f", -words.figure, -words.figure < 20_000)
	list = append(list, Promise{"allocations of next and previous", "0", fmt.Sprintf("%.0f", allocs), "everywhere", allocs == 0})
	return list
}
