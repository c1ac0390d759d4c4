package ruqi

import (
	"context"
	"fmt"
	"time"
)

// guardedStore stands before the store for the loops: a panic of a store is an
// error that may pass, not the end of the program.
type guardedStore struct{ JobStore }

func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the store panicked: %v: %w", p, ErrUnavailable)
	}
}

func (g guardedStore) Claim(ctx context.Context, r ClaimRequest, decide func(time.Time, []Due) []Plan) (c Claimed, err error) {
	defer guard(&err)
	return g.JobStore.Claim(ctx, r, decide)
}

func (g guardedStore) Finish(ctx context.Context, o Owner, done []Done) (late []int64, err error) {
	defer guard(&err)
	return g.JobStore.Finish(ctx, o, done)
}

func (g guardedStore) WriteRuns(ctx context.Context, o Owner, updates []RunUpdate) (late []int64, err error) {
	defer guard(&err)
	return g.JobStore.WriteRuns(ctx, o, updates)
}

func (g guardedStore) Beat(ctx context.Context, i Instance) (beaten Instance, err error) {
	defer guard(&err)
	return g.JobStore.Beat(ctx, i)
}

func (g guardedStore) Rescue(ctx context.Context, o Owner, limit int, decide func(time.Time, Run, *JobRecord) Done) (dead []Run, err error) {
	defer guard(&err)
	return g.JobStore.Rescue(ctx, o, limit, decide)
}

func (g guardedStore) Clean(ctx context.Context, r Retention) (n int, err error) {
	defer guard(&err)
	return g.JobStore.Clean(ctx, r)
}
