// Command sqlite measures the SQLite store beside the floor of what it does: the
// same job UPDATE, run INSERT and finish UPDATE as hand-written SQL through the
// same driver, 500 a transaction, on the same file system. Floor and store take turns in
// one run, so that what else the machine does meets both.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A contender does a number of no-op runs, each from due to recorded.
type contender struct {
	name string
	open func(ctx context.Context, path string, jobs int) (round func(ctx context.Context) error, close func() error, err error)
}

const batch = 500 // runs a transaction, the store's default claim

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sqlite", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder of the files; empty: a temporary one")
	jobs := flags.Int("jobs", 10_000, "jobs, each of which runs once a round")
	idleJobs := flags.Int("idle-jobs", 100_000, "jobs of the store whose idle claim is measured")
	rounds := flags.Int("rounds", 7, "rounds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "ruqi-bench-sqlite-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}
	contenders := []contender{
		{"floor, bare tables", openBare},
		{"floor, tables of the store", openSame},
		{"store alone", openStore},
		{"whole engine", openEngine},
	}
	results := make([][]sample, len(contenders))
	turns := make([]func(context.Context) error, len(contenders))
	for i, c := range contenders {
		round, closing, err := c.open(ctx, filepath.Join(*dir, fmt.Sprintf("%d.db", i)), *jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer closing()
		turns[i] = round
	}
	for n := range *rounds + 1 {
		for i, c := range contenders {
			s, err := measure(ctx, turns[i], *jobs)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if n > 0 { // the first round warms up
				results[i] = append(results[i], s)
			}
		}
	}
	report(out, contenders, results)
	return idle(ctx, out, *dir, *idleJobs)
}

// A sample is one round of one contender.
type sample struct {
	rate float64       // runs a second
	cpu  time.Duration // user and system time of a run
}

func measure(ctx context.Context, round func(context.Context) error, runs int) (sample, error) {
	before, begin := cpu(), time.Now()
	if err := round(ctx); err != nil {
		return sample{}, err
	}
	wall := time.Since(begin)
	return sample{rate: float64(runs) / wall.Seconds(), cpu: (cpu() - before) / time.Duration(runs)}, nil
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// floors is how many of the contenders are floors; the others are measured against each.
const floors = 2

func report(out io.Writer, contenders []contender, results [][]sample) {
	fmt.Fprintln(out, "| | runs a second | CPU µs a run | % of the bare floor (by CPU) | % of the floor on the store's tables (by CPU) |\n| --- | --- | --- | --- | --- |")
	for i, c := range contenders {
		var rates, cpus []float64
		for _, s := range results[i] {
			rates, cpus = append(rates, s.rate), append(cpus, float64(s.cpu.Nanoseconds())/1e3)
		}
		fmt.Fprintf(out, "| %s | %s | %s |", c.name, spread(rates, "%.0f"), spread(cpus, "%.1f"))
		for floor := range floors {
			if i < floors {
				fmt.Fprint(out, " |")
				continue
			}
			var ratios, byCPU []float64
			for n, s := range results[i] {
				ratios = append(ratios, s.rate/results[floor][n].rate*100)
				byCPU = append(byCPU, float64(results[floor][n].cpu)/float64(s.cpu)*100)
			}
			fmt.Fprintf(out, " %s (%s) |", spread(ratios, "%.0f"), spread(byCPU, "%.0f"))
		}
		fmt.Fprintln(out)
	}
}

// spread is the median with the lowest and the highest.
func spread(values []float64, format string) string {
	v := slices.Sorted(slices.Values(values))
	return fmt.Sprintf(format+" ("+format+"-"+format+")", v[len(v)/2], v[0], v[len(v)-1])
}
