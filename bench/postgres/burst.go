package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// burst lets all jobs of the crowd become due within one second, on three instances, and looks in the rows whether each
// has run once, and when. They are new to the instances, which is the slowest: each definition is read and decoded.
func (p *plan) burst(ctx context.Context, out io.Writer, s *server) (err error) {
	place, err := p.openCrowd(ctx, s)
	if err != nil {
		return err
	}
	g, err := p.startGroup(ctx, "instance", place.address(), 3)
	if err != nil {
		return errors.Join(err, place.close())
	}
	defer func() { err = errors.Join(err, g.stop(), place.close()) }()
	fmt.Fprintf(out, "\n%d jobs due within one second, 3 instances; the promise: all started within 10 s, none twice.\n\n", p.crowd)
	fmt.Fprintln(out, "| | last started after, s | last ended after, s | rows | different fires | function called | CPU µs a run | client | server | other CPU % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, name := range []string{"unknown to the instances", "the same jobs again"} {
		b, err := p.oneBurst(ctx, s, g, place)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %d | %d | %d | %.0f | %.0f | %.0f | %.0f |\n", name, b.started, b.ended, b.rows, b.fires, b.called,
			perRun(b.sample), perRunClient(b.sample), perRunServer(b.sample), b.sample.other())
		if b.fires != b.rows || b.called != int64(b.rows) || b.rows != p.crowd {
			return fmt.Errorf("%d jobs were due once; %d rows of %d fires, %d calls", p.crowd, b.rows, b.fires, b.called)
		}
	}
	return nil
}

// openCrowd makes the database with the crowd, unless an earlier bench has.
func (p *plan) openCrowd(ctx context.Context, s *server) (*database, error) {
	if !s.crowded {
		if err := s.create(ctx, "crowd", ""); err != nil {
			return nil, err
		}
		if err := fill(ctx, s.database("crowd"), p.crowd, rare); err != nil {
			return nil, err
		}
		s.crowded = true
	}
	d, err := openDatabase(ctx, s.database("crowd"))
	if err != nil {
		return nil, err
	}
	if err := execAll(ctx, d.conn, "VACUUM (ANALYZE)"); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// A burstResult is what the rows of one burst say. Times are seconds after the first was due.
type burstResult struct {
	sample         sample
	started, ended float64
	rows, fires    int
	called         int64
}

func (p *plan) oneBurst(ctx context.Context, s *server, g group, place *database) (b burstResult, err error) {
	for lead := 2*time.Second + time.Duration(p.crowd)*40*time.Microsecond; ; lead *= 2 {
		called, err := g.called()
		if err != nil {
			return b, err
		}
		at := time.Now().Add(lead).Truncate(time.Second)
		if err := errors.Join(place.arm(ctx, p.crowd, at, time.Second), place.tidy(ctx)); err != nil {
			return b, err
		}
		before, err := look(g, s)
		if err != nil {
			return b, err
		}
		early := time.Now().Before(at)
		if err := sleepUntil(ctx, at); err != nil {
			return b, err
		}
		before.at = at
		if err := drain(ctx, g, place, called, p.crowd); err != nil {
			return b, err
		}
		after, err := look(g, s)
		if err != nil {
			return b, err
		}
		b.sample = after.since(before, p.crowd)
		if !early { // it was due before all was ready: once more, with more time
			continue
		}
		all, err := g.called()
		if err != nil {
			return b, err
		}
		b.called = all - called
		err = place.conn.QueryRow(ctx, `SELECT count(*), count(DISTINCT (job_id, nominal)), extract(epoch FROM max(started) - $1)::float8, extract(epoch FROM max(finished) - $1)::float8
			FROM rq_run WHERE nominal >= $1 AND nominal < $1 + interval '1 second' AND state = 2`, at).Scan(&b.rows, &b.fires, &b.started, &b.ended)
		return b, err
	}
}
