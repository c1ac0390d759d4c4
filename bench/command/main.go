// Command command compares the executor of commands with a bare loop over os/exec that
// captures combined output, the least that a scheduler could do.
//
//	go run ./command -n 4000 -rounds 7 -parallel 8
//
// The two take turns, so that what else happens on the machine meets both, and
// the order changes with each round. It prints the median (lowest-highest) of the rounds in runs per
// second and in CPU time per run (of this process and of its children together), and the ratio of the medians; then how many
// lines a second of one command's output each takes.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

func main() {
	os.Exit(compare(os.Args[1:], os.Stdout, os.Stderr))
}

// A subject is one thing to start, in both ways.
type subject struct {
	name string
	task *command.Task
	argv []string
}

// A sample is one round of one side.
type sample struct {
	perSecond float64
	cpu       time.Duration // of one run
}

func compare(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("command", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 4000, "runs a round")
	rounds := flags.Int("rounds", 7, "rounds of each side")
	parallel := flags.Int("parallel", 8, "runs at a time")
	if flags.Parse(args) != nil {
		return 2
	}
	executor := command.New(command.Options{})
	fmt.Fprintf(stdout, "%s, %d CPUs, %d runs at a time, %d rounds of %d\n", runtime.Version(), runtime.NumCPU(), *parallel, *rounds, *n)
	for _, s := range []subject{
		{"/bin/true", command.Argv("/bin/true"), []string{"/bin/true"}},
		{"sh -c 'echo hi'", command.Shell("echo hi"), []string{"/bin/sh", "-c", "echo hi"}},
	} {
		ours := func(id int64) error { return ruqiRun(executor, s.task, id) }
		bare := func(int64) error { return bareRun(s.argv) }
		var our, their []sample
		for round := range *rounds + 1 {
			first, second := &our, &their
			one, two := ours, bare
			if round%2 == 1 {
				first, second, one, two = second, first, two, one
			}
			a, errA := measure(*n, *parallel, one)
			b, errB := measure(*n, *parallel, two)
			if errA != nil || errB != nil {
				fmt.Fprintln(stderr, "command:", errA, errB)
				return 1
			}
			if round > 0 { // the first warms up
				*first, *second = append(*first, a), append(*second, b)
			}
		}
		show(stdout, s.name, our, their)
	}
	if err := lines(executor, *rounds, stdout); err != nil {
		fmt.Fprintln(stderr, "command:", err)
		return 1
	}
	return 0
}

// lines measures how fast the executor takes the output of one command: the promise is 100,000 lines a second.
func lines(executor *command.Executor, rounds int, stdout io.Writer) error {
	const count = 2_000_000
	text := fmt.Sprintf("seq -f %%09.0f %d", count)
	task := command.Shell(text)
	var our, their []sample
	for range rounds {
		a, err := measure(1, 1, func(id int64) error { return ruqiRun(executor, task, id) })
		if err != nil {
			return err
		}
		b, err := measure(1, 1, func(int64) error { return bareRun([]string{"/bin/sh", "-c", text}) })
		if err != nil {
			return err
		}
		our, their = append(our, a), append(their, b)
	}
	rate := func(s sample) float64 { return s.perSecond * count }
	a, aLow, aHigh := spread(our, rate)
	b, bLow, bHigh := spread(their, rate)
	fmt.Fprintf(stdout, "\noutput of %d lines of 10 bytes\n", count)
	fmt.Fprintf(stdout, "  executor  %9.0f lines/s (%.0f-%.0f)\n  os/exec   %9.0f lines/s (%.0f-%.0f)\n  ratio     %9.2f\n", a, aLow, aHigh, b, bLow, bHigh, a/b)
	return nil
}

func ruqiRun(executor *command.Executor, task *command.Task, id int64) error {
	var out bytes.Buffer
	now := time.Now()
	run := &ruqi.Run{ID: id, JobID: "bench", Attempt: 1, Nominal: now, Started: &now}
	return executor.Execute(context.Background(), task, ruqi.Execution{Run: run, Output: &out, KillGrace: time.Second}).Err
}

func bareRun(argv []string) error {
	_, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	return err
}

func measure(n, parallel int, run func(id int64) error) (sample, error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	cpu, begin := cpuTime(), time.Now()
	for range parallel {
		all.Go(func() {
			for id := next.Add(1); id <= int64(n); id = next.Add(1) {
				if err := run(id); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	if err := failed.Load(); err != nil {
		return sample{}, *err
	}
	return sample{float64(n) / took.Seconds(), (cpuTime() - cpu) / time.Duration(n)}, nil
}

// cpuTime is what this process and its ended children have used, in user and system mode.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if syscall.Getrusage(who, &usage) == nil {
			sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return sum
}

func show(w io.Writer, name string, our, their []sample) {
	speed := func(s sample) float64 { return s.perSecond }
	cost := func(s sample) float64 { return float64(s.cpu.Microseconds()) }
	a, aLow, aHigh := spread(our, speed)
	b, bLow, bHigh := spread(their, speed)
	c, cLow, cHigh := spread(our, cost)
	d, dLow, dHigh := spread(their, cost)
	fmt.Fprintf(w, "\n%s\n", name)
	fmt.Fprintf(w, "  executor  %6.0f runs/s (%.0f-%.0f)   CPU %4.0f us a run (%.0f-%.0f)\n", a, aLow, aHigh, c, cLow, cHigh)
	fmt.Fprintf(w, "  os/exec   %6.0f runs/s (%.0f-%.0f)   CPU %4.0f us a run (%.0f-%.0f)\n", b, bLow, bHigh, d, dLow, dHigh)
	fmt.Fprintf(w, "  ratio     %6.2f                    CPU %.2f\n", a/b, c/d)
}

func spread(samples []sample, of func(sample) float64) (median, low, high float64) {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2], values[0], values[len(values)-1]
}
