package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// steadyJobs run each second, spread over it: as many fires a second.
const steadyJobs = 1000

// late measures how long after its time a function begins, under a steady load.
func (p *plan) late(ctx context.Context, out io.Writer, s *server) error {
	fmt.Fprintf(out, "\n%d fires a second, spread over the second, %d rounds of %v: how late the function begins, by the host's clock. The promise: 99 of 100 within 20 ms.\n\n", steadyJobs, p.rounds, p.window)
	fmt.Fprintln(out, "| | fires/s | p50 ms | p99 ms | max ms | p99 of the rows' started, ms | CPU µs a run | client | server | other CPU % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, n := range []int{1, 3} {
		name := fmt.Sprintf("late_%d", n)
		if err := s.create(ctx, name, ""); err != nil {
			return err
		}
		d, err := openDatabase(ctx, s.database(name))
		if err != nil {
			return err
		}
		if err := errors.Join(p.steady(ctx, out, s, d, n, instancesOf(n)), d.close()); err != nil {
			return err
		}
	}
	f, err := openFile(dir, "ruqi.db")
	if err != nil {
		return err
	}
	return errors.Join(p.steady(ctx, out, nil, f, 1, "SQLite, 1 instance"), f.close())
}

// steady measures one cluster. s is nil where there is no server.
func (p *plan) steady(ctx context.Context, out io.Writer, s *server, where place, n int, name string) (err error) {
	if err := fill(ctx, where.address(), steadyJobs, eachSecond(steadyJobs)); err != nil {
		return err
	}
	g, err := p.startGroup(ctx, "instance", where.address(), n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	if err := sleepUntil(ctx, time.Now().Add(6*time.Second)); err != nil { // the jobs' start and two seconds
		return err
	}
	var samples []sample
	var p50, p99, most, rows []float64
	for range p.rounds {
		if _, err := g.ask("late"); err != nil { // forget what was before
			return err
		}
		before, err := look(g, s)
		if err != nil {
			return err
		}
		if err := sleepUntil(ctx, before.at.Add(p.window)); err != nil {
			return err
		}
		answers, err := g.ask("late")
		if err != nil {
			return err
		}
		after, err := look(g, s)
		if err != nil {
			return err
		}
		var all []float64
		for _, a := range answers {
			all = append(all, a.Late...)
		}
		slices.Sort(all)
		samples = append(samples, after.since(before, len(all)))
		p50, p99 = append(p50, quantile(all, 0.5)), append(p99, quantile(all, 0.99))
		most = append(most, quantile(all, 1))
		d, ok := where.(*database)
		if !ok {
			continue
		}
		var row float64
		err = d.conn.QueryRow(ctx, `SELECT coalesce(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM started - due)::float8), 0) FROM rq_run WHERE due >= $1 AND due < $2`,
			before.at, after.at).Scan(&row)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, spreadOf(samples, "%.0f", sample.rate),
		spread(p50, "%.1f"), spread(p99, "%.1f"), spread(most, "%.0f"), spread(rows, "%.1f"),
		spreadOf(samples, "%.0f", perRun), spreadOf(samples, "%.0f", perRunClient), spreadOf(samples, "%.0f", perRunServer), spreadOf(samples, "%.0f", sample.other))
	return nil
}
