package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// A contender does the runs of one row of the table of rates.
type contender struct {
	key, name string
	// kind and n are its children, place its store.
	kind  string
	n     int
	place place
	// url is a database that is no place of ours.
	url   string
	group group
	// samples are those of its rounds; parts are how long river inserted and worked in each.
	samples []sample
	parts   [][]time.Duration
}

func (c *contender) address() string {
	if c.place != nil {
		return c.place.address()
	}
	return c.url
}

// contenders are the rows of the table.
func (p *plan) contenders() []*contender {
	all := []*contender{
		{key: "floor", name: "floor: the same rows by hand", kind: "floor", n: 1},
		{key: "finding", name: "floor that also finds and locks what is due", kind: "finding", n: 1},
		{key: "one", name: "ruqi, 1 instance", kind: "racer", n: 1},
		{key: "three", name: "ruqi, 3 instances", kind: "racer", n: 3},
		{key: "three-in-one", name: "ruqi, 3 instances in one process", kind: "racers", n: 1},
		{key: "sqlite", name: "ruqi on SQLite, 1 instance", kind: "racer", n: 1},
		{key: "river", name: "river, inserted and worked", kind: "river", n: 1},
		{key: "river-bare", name: "river without its GIN indexes", kind: "river", n: 1},
	}
	return slices.DeleteFunc(all, func(c *contender) bool { return len(p.rows) > 0 && !slices.Contains(p.rows, c.key) })
}

// byKey finds a contender; nil: it does not take part.
func byKey(list []*contender, key string) *contender {
	for _, c := range list {
		if c.key == key {
			return c
		}
	}
	return nil
}

// rate measures no-op runs, each from due to recorded.
func (p *plan) rate(ctx context.Context, out io.Writer, s *server) (err error) {
	list := p.contenders()
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer func() { err = errors.Join(err, closeContenders(list)) }()
	if err := p.rateStores(ctx, s, list, dir); err != nil {
		return err
	}
	for _, c := range list {
		if c.group, err = p.startGroup(ctx, c.kind, c.address(), c.n); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, c := range list {
		if err := p.warm(ctx, s, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for range p.rounds {
		for _, c := range list {
			if err := p.turn(ctx, s, c); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	p.reportRate(out, list)
	return nil
}

// rateStores makes a database, or a file, for each contender.
func (p *plan) rateStores(ctx context.Context, s *server, list []*contender, dir string) error {
	if err := s.create(ctx, "jobs", ""); err != nil {
		return err
	}
	if err := fill(ctx, s.database("jobs"), p.jobs, rare); err != nil {
		return err
	}
	for _, c := range list {
		name := "rate_" + strings.ReplaceAll(c.key, "-", "_")
		switch c.key {
		case "sqlite":
			f, err := openFile(dir, "ruqi.db")
			if err != nil {
				return err
			}
			c.place = f
			if err := fill(ctx, f.path, p.jobs, rare); err != nil {
				return err
			}
		case "river", "river-bare":
			c.url = s.database(name)
			if err := errors.Join(s.create(ctx, name, ""), migrateRiver(ctx, c.url, c.key == "river-bare")); err != nil {
				return err
			}
		default:
			if err := s.create(ctx, name, "jobs"); err != nil {
				return err
			}
			d, err := openDatabase(ctx, s.database(name))
			if err != nil {
				return err
			}
			c.place = d
		}
	}
	return nil
}

func closeContenders(list []*contender) error {
	var all []error
	for _, c := range list {
		all = append(all, c.group.stop())
		if c.place != nil {
			all = append(all, c.place.close())
		}
	}
	return errors.Join(all...)
}

// commanded says that the contender's child is told to begin.
func (c *contender) commanded() bool { return c.kind != "racer" && c.kind != "racers" }

// warm lets a contender do what is not counted. Each scheduler runs all jobs alone once, so that it knows them as
// it would after some hours.
func (p *plan) warm(ctx context.Context, s *server, c *contender) error {
	if c.commanded() {
		_, _, err := p.command(ctx, s, c, p.jobs)
		return err
	}
	in := 1 // schedulers of a child
	if c.kind == "racers" {
		in = racers
	}
	for at := range c.n * in {
		for i, child := range c.group {
			only := at - i*in + 1
			if only < 1 || only > in {
				only = in + 1 // none of this child's
			}
			if _, err := child.ask(fmt.Sprintf("only %d", only)); err != nil {
				return err
			}
		}
		if _, err := p.pass(ctx, s, c.group, c.place); err != nil {
			return err
		}
	}
	_, err := c.group.ask("only 0")
	return err
}

// turn lets a contender do one round.
func (p *plan) turn(ctx context.Context, s *server, c *contender) error {
	var sum sample
	var parts []time.Duration
	switch {
	case c.kind == "river": // one large round is better for it than some small ones
		var err error
		if sum, parts, err = p.command(ctx, s, c, p.passes*p.jobs); err != nil {
			return err
		}
	case c.commanded():
		for range p.passes {
			one, _, err := p.command(ctx, s, c, p.jobs)
			if err != nil {
				return err
			}
			sum = sum.add(one)
		}
	default:
		for range p.passes {
			one, err := p.pass(ctx, s, c.group, c.place)
			if err != nil {
				return err
			}
			sum = sum.add(one)
		}
	}
	c.samples, c.parts = append(c.samples, sum), append(c.parts, parts)
	return nil
}

// command lets a child do n runs.
func (p *plan) command(ctx context.Context, s *server, c *contender, n int) (took sample, parts []time.Duration, err error) {
	if c.place != nil {
		if err := c.place.arm(ctx, n, time.Now(), 0); err != nil {
			return took, nil, err
		}
		err = c.place.tidy(ctx)
	} else {
		var d *database
		if d, err = openDatabase(ctx, c.url); err == nil {
			err = errors.Join(execAll(ctx, d.conn, "VACUUM (ANALYZE) river_job"), d.close())
		}
	}
	if err != nil {
		return took, nil, err
	}
	if _, err := c.group.ask("begin"); err != nil {
		return took, nil, err
	}
	before, err := look(c.group, s)
	if err != nil {
		return took, nil, err
	}
	a, err := c.group[0].ask(fmt.Sprintf("round %d", n))
	if err != nil {
		return took, nil, err
	}
	after, err := look(c.group, s)
	if err != nil {
		return took, nil, err
	}
	_, err = c.group.ask("end")
	return after.since(before, n), a.Parts, err
}

// lookTime is enough for a look at the clocks, on a busy machine too.
const lookTime = 200 * time.Millisecond

// pass lets instances run all jobs, which become due at one moment, from which on the time counts. Where
// the moment has come before all was ready, that does not count and is done again with more time.
func (p *plan) pass(ctx context.Context, s *server, g group, where place) (took sample, err error) {
	p.lead = max(p.lead, 800*time.Millisecond+time.Duration(p.jobs)*40*time.Microsecond)
	for ; ; p.lead *= 2 {
		at := time.Now().Add(p.lead)
		called, err := g.called()
		if err != nil {
			return took, err
		}
		if err := where.arm(ctx, p.jobs, at, 0); err != nil {
			return took, err
		}
		if err := where.tidy(ctx); err != nil {
			return took, err
		}
		if err := sleepUntil(ctx, at.Add(-lookTime)); err != nil {
			return took, err
		}
		before, err := look(g, s)
		if err != nil {
			return took, err
		}
		early := time.Now().Before(at)
		if err := sleepUntil(ctx, at); err != nil {
			return took, err
		}
		if err := drain(ctx, g, where, called, p.jobs); err != nil {
			return took, err
		}
		after, err := look(g, s)
		if err != nil || early {
			before.at = at
			return after.since(before, p.jobs), err
		}
	}
}

func (p *plan) reportRate(out io.Writer, list []*contender) {
	fmt.Fprintf(out, "\nNo-op runs: %d jobs, %d runs of each a round, %d rounds in turns; CPU is user and system time of client and server.\n\n", p.jobs, p.passes, p.rounds)
	fmt.Fprintln(out, "| | runs/s | CPU µs a run | client | server | % of the floor's rate (by CPU) | other CPU % |\n| --- | --- | --- | --- | --- | --- | --- |")
	floor, one, three := byKey(list, "floor"), byKey(list, "one"), byKey(list, "three")
	for _, c := range list {
		share := ""
		if floor != nil && c != floor && c.key != "sqlite" {
			share = fmt.Sprintf("%s (%s)", spread(ratios(c.samples, floor.samples, sample.rate), "%.0f"), spread(ratios(floor.samples, c.samples, perRun), "%.0f"))
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", c.name,
			spreadOf(c.samples, "%.0f", sample.rate), spreadOf(c.samples, "%.1f", perRun),
			spreadOf(c.samples, "%.1f", perRunClient), spreadOf(c.samples, "%.1f", perRunServer),
			share, spreadOf(c.samples, "%.0f", sample.other))
	}
	fmt.Fprintln(out)
	if one != nil && three != nil {
		fmt.Fprintf(out, "- 3 instances to 1: %s %% of its rate.\n", spread(ratios(three.samples, one.samples, sample.rate), "%.0f"))
	}
	for _, c := range list {
		if c.kind != "river" || one == nil {
			continue
		}
		fmt.Fprintf(out, "- 1 instance to %s: %s %% of its rate, %s %% of its CPU (of the client's %s %%, of the server's %s %%).", c.name,
			spread(ratios(one.samples, c.samples, sample.rate), "%.0f"), spread(ratios(one.samples, c.samples, perRun), "%.0f"),
			spread(ratios(one.samples, c.samples, perRunClient), "%.0f"), spread(ratios(one.samples, c.samples, perRunServer), "%.0f"))
		fmt.Fprintf(out, " river inserted %s jobs/s", partRate(c.parts, 0, p.passes*p.jobs))
		if p.river.apart {
			fmt.Fprintf(out, " and then worked %s", partRate(c.parts, 1, p.passes*p.jobs))
		}
		fmt.Fprintln(out, ".")
	}
}

func perRunClient(s sample) float64 { return s.each(s.client) }
func perRunServer(s sample) float64 { return s.each(s.server) }

func perRun(s sample) float64 { return s.each(s.cpu()) }

// partRate is the rate of a part of river's rounds.
func partRate(parts [][]time.Duration, at, n int) string {
	var values []float64
	for _, p := range parts {
		if at < len(p) {
			values = append(values, float64(n)/p[at].Seconds())
		}
	}
	return spread(values, "%.0f")
}
