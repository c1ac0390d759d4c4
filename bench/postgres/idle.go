package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// settle is how long instances have for their first beats and claims.
const settle = 4 * time.Second

// idle measures instances that wait, with many jobs that are not due.
func (p *plan) idle(ctx context.Context, out io.Writer, s *server) error {
	d, err := p.openCrowd(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }() // it was read only
	if err := s.exec(ctx, "ALTER DATABASE crowd SET pg_stat_statements.track = 'top'"); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nIdle with %d jobs that are not due, %d rounds of %v; CPU in %% of one core. The promise: fewer than 5 statements a second for each instance.\n\n", p.crowd, p.rounds, p.window)
	fmt.Fprintln(out, "| | statements a second and instance | client's CPU %, each | server's CPU %, in all | other CPU % |\n| --- | --- | --- | --- | --- |")
	if err := p.waiting(ctx, out, s, nil, "PostgreSQL, no instance", "", 0); err != nil {
		return err
	}
	for _, n := range []int{1, 3} {
		if err := p.waiting(ctx, out, s, s, instancesOf(n), d.url, n); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := openFile(dir, "ruqi.db")
	if err != nil {
		return err
	}
	if err := fill(ctx, f.path, p.crowd, rare); err != nil {
		return errors.Join(err, f.close())
	}
	return errors.Join(p.waiting(ctx, out, nil, nil, "SQLite, 1 instance", f.path, 1), f.close())
}

// waiting measures n instances that wait. statements is the server whose statements are counted; nil: none are.
func (p *plan) waiting(ctx context.Context, out io.Writer, s, statements *server, name, address string, n int) (err error) {
	g, err := p.startGroup(ctx, "instance", address, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	var samples []sample
	var counts []float64
	if err := sleepUntil(ctx, time.Now().Add(settle)); err != nil {
		return err
	}
	rounds := p.rounds
	if n == 0 {
		rounds = 1
	}
	for range rounds {
		counted, err := statements.counted(ctx)
		if err != nil {
			return err
		}
		before, err := look(g, s)
		if err != nil {
			return err
		}
		if err := sleepUntil(ctx, before.at.Add(p.window)); err != nil {
			return err
		}
		after, err := look(g, s)
		if err != nil {
			return err
		}
		now, err := statements.counted(ctx)
		if err != nil {
			return err
		}
		one := after.since(before, max(n, 1))
		samples = append(samples, one)
		if statements != nil {
			counts = append(counts, float64(now-counted)/one.took.Seconds()/float64(n))
		}
	}
	server := ""
	if s != nil {
		server = spreadOf(samples, "%.2f", func(o sample) float64 { return o.load(o.server) })
	}
	client := ""
	if n > 0 {
		client = spreadOf(samples, "%.2f", func(o sample) float64 { return o.load(o.client) / float64(n) })
	}
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", name, spread(counts, "%.1f"), client, server, spreadOf(samples, "%.0f", sample.other))
	return nil
}

// counted is how many statements the databases have had whose statements are tracked; 0 for no server.
func (s *server) counted(ctx context.Context) (n int64, err error) {
	if s == nil {
		return 0, nil
	}
	err = s.conn.QueryRow(ctx, "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements").Scan(&n)
	return n, err
}

// instancesOf names a row.
func instancesOf(n int) string {
	if n == 1 {
		return "PostgreSQL, 1 instance"
	}
	return fmt.Sprintf("PostgreSQL, %d instances", n)
}
