package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// idle measures a claim that finds nothing due, with many jobs and with history.
func idle(ctx context.Context, out io.Writer, dir string, jobs int) (err error) {
	now := epoch
	s, err := sqlite.Open(ctx, filepath.Join(dir, "idle.db"), sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := addJobs(ctx, s, jobs); err != nil {
		return err
	}
	instance, err := s.Beat(ctx, ruqi.Instance{Owner: ruqi.Owner{Instance: "bench"}, Lease: 24 * 365 * time.Hour})
	if err != nil {
		return err
	}
	now = now.Add(-time.Minute)
	request := ruqi.ClaimRequest{Owner: instance.Owner, Slots: map[string]int{"default": 64, "command": 8}, Needs: []string{"func:noop", "command", "webhook"}}
	const polls = 5000
	before, begin := cpu(), time.Now()
	for range polls {
		claimed, err := s.Claim(ctx, request, plan)
		if err != nil {
			return err
		}
		if claimed.Next == nil || len(claimed.Runs) > 0 {
			return errors.New("an idle claim took something or told no next time")
		}
	}
	fmt.Fprintf(out, "idle claim with %d jobs: %v, %v of CPU\n", jobs, time.Since(begin)/polls, (cpu()-before)/polls)
	return nil
}
