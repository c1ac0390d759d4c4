package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// ownCPU is the user and system time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busy is how long the machine's CPUs have worked since it was started.
func busy() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var user, nice, system int64
	if _, err := fmt.Sscanf(string(data), "cpu %d %d %d", &user, &nice, &system); err != nil {
		return 0
	}
	return time.Duration(user+nice+system) * tick
}

// A clock is what had been used at a moment.
type clock struct {
	at                        time.Time
	client, server, all, mine time.Duration
}

// look reads the clocks of a group of instances and of the server, which may be nil.
func look(g group, s *server) (c clock, err error) {
	c.at, c.all, c.mine = time.Now(), busy(), ownCPU()
	if c.client, err = g.cpu(); err != nil {
		return c, err
	}
	if s != nil {
		c.server, err = s.cpu()
	}
	return c, err
}

// A sample is one round of one contender.
type sample struct {
	n              int
	took           time.Duration
	client, server time.Duration
	// rest is what everything else on the machine used meanwhile.
	rest time.Duration
}

// since makes a sample of the time between two clocks.
func (c clock) since(before clock, n int) sample {
	s := sample{n: n, took: c.at.Sub(before.at), client: c.client - before.client, server: c.server - before.server}
	s.rest = max(c.all-before.all-(c.mine-before.mine)-s.client-s.server, 0)
	return s
}

// add makes one sample of two.
func (s sample) add(o sample) sample {
	return sample{s.n + o.n, s.took + o.took, s.client + o.client, s.server + o.server, s.rest + o.rest}
}

// other is what everything else used, in percent of one CPU.
func (s sample) other() float64 { return s.load(s.rest) }

func (s sample) rate() float64 { return float64(s.n) / s.took.Seconds() }

// each is a time in microseconds a unit.
func (s sample) each(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(s.n) }

func (s sample) cpu() time.Duration { return s.client + s.server }

// load is a time in percent of one CPU.
func (s sample) load(d time.Duration) float64 { return 100 * d.Seconds() / s.took.Seconds() }

// spreadOf is the median of what f makes of the samples, with the lowest and the highest.
func spreadOf(list []sample, format string, f func(sample) float64) string {
	var values []float64
	for _, s := range list {
		values = append(values, f(s))
	}
	return spread(values, format)
}

func spread(values []float64, format string) string {
	if len(values) == 0 {
		return ""
	}
	v := slices.Sorted(slices.Values(values))
	return fmt.Sprintf(format+" ("+format+"-"+format+")", v[len(v)/2], v[0], v[len(v)-1])
}

// ratios divides what f makes of the samples of one contender by that of another, round by round, in percent.
func ratios(list, base []sample, f func(sample) float64) []float64 {
	var values []float64
	for i := range min(len(list), len(base)) {
		values = append(values, 100*f(list[i])/f(base[i]))
	}
	return values
}

// quantile is the value below which a part of the sorted values lies.
func quantile(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}
