// Command engine measures the whole scheduler: registering jobs, steady load,
// the most no-op runs a second, and what it costs to wait.
//
//	go run ./engine [-only add,steady,burst,idle,sqlite] [-runs 3]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

func main() {
	only := flag.String("only", "add,steady,burst,idle", "what to measure")
	runs := flag.Int("runs", 3, "how often")
	profile := flag.String("cpuprofile", "", "file for a CPU profile")
	ticks := flag.Bool("tick", false, "do nothing but wake once a second: the floor of the idle service")
	flag.Parse()
	if *ticks {
		tick()
		return
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "engine:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := measure(strings.Split(*only, ","), *runs); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		pprof.StopCPUProfile() // does nothing where there is none
		os.Exit(1)
	}
}

func measure(only []string, runs int) error {
	fmt.Println("| what | target | measured: median (low-high) | runs |\n| --- | --- | --- | --- |")
	for _, m := range []struct {
		name string
		run  func(n int) error
	}{{"add", add}, {"steady", steady}, {"burst", burst}, {"idle", idle}} {
		if slices.Contains(only, m.name) {
			if err := m.run(runs); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// cpu is the user and system time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spread writes the median and the range of the values.
func spread(format string, values []float64) string {
	slices.Sort(values)
	return fmt.Sprintf(format+" ("+format+"-"+format+")", values[len(values)/2], values[0], values[len(values)-1])
}

func row(what, target string, runs int, measured string) {
	fmt.Printf("| %s | %s | %s | %d |\n", what, target, measured, runs)
}

func newScheduler(store ruqi.JobStore, o ruqi.Options) (*ruqi.Scheduler, error) {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "nothing", func(context.Context, struct{}) error { return nil })
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	o.Zone = time.UTC
	return ruqi.New(store, registry, o)
}

func addJobs(s *ruqi.Scheduler, n int, spec func(i int) ruqi.JobSpec) error {
	for i := range n {
		if _, _, err := s.AddJob(context.Background(), spec(i), ruqi.Fail); err != nil {
			return err
		}
	}
	return nil
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// add registers a million interval jobs through the public call.
func add(runs int) error {
	const jobs = 1_000_000
	var seconds, bytes, cpus, callers []float64
	spec := func(i int) ruqi.JobSpec {
		return ruqi.JobSpec{ID: fmt.Sprintf("job-%07d", i), Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("nothing", nil)}
	}
	for range runs {
		before, cpuBefore := liveHeap(), cpu()
		store := memory.Open(memory.Options{})
		s, err := newScheduler(store, ruqi.Options{})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := addJobs(s, jobs, spec); err != nil {
			return err
		}
		seconds = append(seconds, time.Since(began).Seconds())
		cpus = append(cpus, (cpu() - cpuBefore).Seconds())
		bytes = append(bytes, float64(liveHeap()-before)/jobs)
		runtime.KeepAlive(s)
		_ = store.Close()
		began = time.Now()
		var made ruqi.JobSpec
		for i := range jobs {
			made = spec(i)
		}
		runtime.KeepAlive(made)
		callers = append(callers, time.Since(began).Seconds())
	}
	row("memory: 1,000,000 interval jobs added, s", "under 5", runs, spread("%.2f", seconds))
	row("of which the caller's own, for ids, triggers and tasks, s", "", runs, spread("%.2f", callers))
	row("the same, CPU s", "", runs, spread("%.2f", cpus))
	row("live heap a job, bytes", "at most 1,024", runs, spread("%.0f", bytes))
	return nil
}

// steady runs 100,000 jobs of a minute each: 1,667 fires a second.
func steady(runs int) error {
	const jobs, every, warm, window = 100_000, time.Minute, 3 * time.Second, 20 * time.Second
	var load, floor, fired, p99 []float64
	for range runs {
		floor = append(floor, timers(jobs, every, window))
		var late lateness
		store := memory.Open(memory.Options{})
		s, err := late.scheduler(store, every)
		if err != nil {
			return err
		}
		start := time.Now().Add(warm)
		if err := addJobs(s, jobs, late.spread(jobs, every, start)); err != nil {
			return err
		}
		if err := s.Start(context.Background()); err != nil {
			return err
		}
		time.Sleep(time.Until(start.Add(time.Second)))
		late.reset()
		cpuBefore, began := cpu(), time.Now()
		time.Sleep(window)
		took := time.Since(began)
		load = append(load, 100*(cpu()-cpuBefore).Seconds()/took.Seconds())
		n, q := late.result()
		fired = append(fired, float64(n)/took.Seconds())
		p99 = append(p99, q)
		if err := s.Shutdown(context.Background()); err != nil {
			return err
		}
	}
	row("memory: 100,000 jobs each minute, CPU % of one core", "under 5", runs, spread("%.1f", load))
	row("floor: 100,000 bare timers of Go, CPU % of one core", "", runs, spread("%.1f", floor))
	row("fires a second", "1,667", runs, spread("%.0f", fired))
	row("lateness p99, ms", "", runs, spread("%.2f", p99))
	return nil
}

// burst runs 100,000 jobs each second for ten seconds, all recorded.
func burst(runs int) error {
	const jobs, every, window = 100_000, time.Second, 10 * time.Second
	var fired, p99, recorded, load, floor, folded []float64
	for range runs {
		floor = append(floor, timers(jobs, every, window))
		var late lateness
		store := memory.Open(memory.Options{})
		s, err := late.scheduler(store, every)
		if err != nil {
			return err
		}
		start := time.Now().Add(2 * time.Second)
		if err := addJobs(s, jobs, late.spread(jobs, every, start)); err != nil {
			return err
		}
		if err := s.Start(context.Background()); err != nil {
			return err
		}
		time.Sleep(time.Until(start.Add(time.Second)))
		late.reset()
		cpuBefore, began := cpu(), time.Now()
		time.Sleep(window)
		took := time.Since(began)
		load = append(load, 100*(cpu()-cpuBefore).Seconds()/took.Seconds())
		n, q := late.result()
		fired = append(fired, float64(n)/took.Seconds())
		p99 = append(p99, q)
		if err := s.Shutdown(context.Background()); err != nil {
			return err
		}
		ended, lost, err := count(s)
		if err != nil {
			return err
		}
		recorded, folded = append(recorded, float64(ended)), append(folded, float64(lost))
	}
	row("memory: no-op fires a second for 10 s", "100,000", runs, spread("%.0f", fired))
	row("lateness p99, ms", "under 50", runs, spread("%.1f", p99))
	row("rows recorded in all", "", runs, spread("%.0f", recorded))
	row("fires folded into a later run, or skipped", "0", runs, spread("%.0f", folded))
	row("CPU % of two cores' 200", "", runs, spread("%.0f", load))
	row("floor: the same by bare timers of Go, CPU %", "", runs, spread("%.0f", floor))
	return nil
}

// timers returns the CPU use, in % of one core, of the least that could fire so often: timers of Go that set
// themselves anew and do nothing else. It keeps no job, no history and no limit.
func timers(n int, every, window time.Duration) float64 {
	start := time.Now().Add(time.Second)
	stop := setTimers(n, start, every, func() {})
	defer stop() // else they would run on beside what is measured next
	time.Sleep(time.Until(start.Add(time.Second)))
	cpuBefore, began := cpu(), time.Now()
	time.Sleep(window)
	return 100 * (cpu() - cpuBefore).Seconds() / time.Since(began).Seconds()
}

// setTimers makes n timers that fire every so often from start on, one after the other, and do what they are told.
func setTimers(n int, start time.Time, every time.Duration, do func()) (stop func()) {
	all := make([]*time.Timer, n)
	var over atomic.Bool
	for i := range all {
		due := start.Add(time.Duration(i*7919%n) * (every / time.Duration(n)))
		all[i] = time.AfterFunc(math.MaxInt64, func() { // never, until it is in its place, where its function finds it
			do()
			if due = due.Add(every); !over.Load() {
				all[i].Reset(time.Until(due))
			}
		})
		all[i].Reset(time.Until(due))
	}
	return func() {
		over.Store(true)
		for _, t := range all {
			t.Stop()
		}
	}
}

// count looks at the whole history: rows that succeeded, and fires that had none of their own.
func count(s *ruqi.Scheduler) (ended, without int, err error) {
	query := ruqi.RunQuery{Limit: ruqi.MaxPage}
	for {
		page, err := s.Runs(context.Background(), query)
		if err != nil {
			return 0, 0, err
		}
		for _, run := range page.Runs {
			without += int(run.Coalesced)
			if run.State == ruqi.RunSucceeded {
				ended++
			} else {
				without++
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return ended, without, nil
		}
	}
}

// A lateness gathers how late functions start after their fire time.
type lateness struct {
	buckets [10_000]atomic.Int64 // tenths of a millisecond
	n       atomic.Int64
}

func (l *lateness) note(due time.Time) {
	late := time.Since(due) / (100 * time.Microsecond)
	l.buckets[min(max(int(late), 0), len(l.buckets)-1)].Add(1)
	l.n.Add(1)
}

func (l *lateness) reset() {
	for i := range l.buckets {
		l.buckets[i].Store(0)
	}
	l.n.Store(0)
}

// result returns how many were noted, and the 99th percentile in milliseconds.
func (l *lateness) result() (n int64, p99 float64) {
	n = l.n.Load()
	seen := int64(0)
	for i := range l.buckets {
		if seen += l.buckets[i].Load(); seen*100 >= n*99 {
			return n, float64(i+1) / 10
		}
	}
	return n, float64(len(l.buckets)) / 10
}

// scheduler has one function that notes its lateness.
func (l *lateness) scheduler(store ruqi.JobStore, _ time.Duration) (*ruqi.Scheduler, error) {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "note", func(ctx context.Context, _ struct{}) error {
		run, _ := ruqi.CurrentRun(ctx)
		l.note(run.Due)
		return nil
	})
	return ruqi.New(store, registry, ruqi.Options{Slots: map[string]int{"default": 4096}, Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// spread gives job i the i-th part of the period as its offset, shuffled.
func (l *lateness) spread(jobs int, every time.Duration, start time.Time) func(i int) ruqi.JobSpec {
	step := every / time.Duration(jobs)
	return func(i int) ruqi.JobSpec {
		first := start.Add(time.Duration(i*7919%jobs) * step)
		t, err := trigger.Interval(every, trigger.IntervalOptions{Start: &first})
		if err != nil {
			panic(err)
		}
		return ruqi.JobSpec{ID: fmt.Sprintf("job-%06d", i), Trigger: t, Task: ruqi.Call("note", nil)}
	}
}
