package ruqi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// guardedStore stands before the store: a panic of a store is an error, not the end of the program. EditJobs is left as it
// is: its decision may be the caller's, whose panics are the caller's.
type guardedStore struct{ JobStore }

// errPanicked is a store's panic: unlike with ErrUnavailable, the step may have happened.
var errPanicked = errors.New("the store panicked")

func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errPanicked, p)
	}
}

// mayPass reports whether the same call may succeed later and does no harm if it has happened: ends
// and output are fenced, so writing them twice changes nothing.
func mayPass(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, errPanicked) }

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

func (g guardedStore) Jobs(ctx context.Context, q JobQuery) (page JobRecordPage, err error) {
	defer guard(&err)
	return g.JobStore.Jobs(ctx, q)
}

func (g guardedStore) Runs(ctx context.Context, q RunQuery) (page RunPage, err error) {
	defer guard(&err)
	return g.JobStore.Runs(ctx, q)
}

func (g guardedStore) Instances(ctx context.Context) (all []Instance, err error) {
	defer guard(&err)
	return g.JobStore.Instances(ctx)
}
