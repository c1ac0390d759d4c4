package jobstoretest_test

import (
	"context"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

// A planted fault is a good store behind a wrapper that breaks one law.
type fault struct {
	what string
	rule string // the rule that must be named
	open func(jobstoretest.Options) jobstoretest.Store
}

type (
	decideEdit  = func(now time.Time, id string, old *ruqi.JobRecord, active int) ruqi.Change
	decideClaim = func(now time.Time, due []ruqi.Due) []ruqi.Plan
	decideDead  = func(now time.Time, dead ruqi.Run, job *ruqi.JobRecord) ruqi.Done
)

func good(o jobstoretest.Options) *memory.Store {
	return memory.Open(memory.Options{Now: o.Now, OutputCap: o.OutputCap})
}

// broken wraps a good store; a nil function leaves its method alone.
type broken struct {
	*memory.Store
	edit   func(context.Context, ruqi.JobQuery, decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error)
	jobs   func(context.Context, ruqi.JobQuery) (ruqi.JobRecordPage, error)
	claim  func(context.Context, ruqi.ClaimRequest, decideClaim) (ruqi.Claimed, error)
	finish func(context.Context, ruqi.Owner, []ruqi.Done) ([]int64, error)
	write  func(context.Context, ruqi.Owner, []ruqi.RunUpdate) ([]int64, error)
	beat   func(context.Context, ruqi.Instance) (ruqi.Instance, error)
	rescue func(context.Context, ruqi.Owner, int, decideDead) ([]ruqi.Run, error)
	cancel func(context.Context, int64, string) (ruqi.Run, error)
	runs   func(context.Context, ruqi.RunQuery) (ruqi.RunPage, error)
	clean  func(context.Context, ruqi.Retention) (int, error)
	count  func(context.Context) (ruqi.Counts, error)
	get    func(context.Context, string, string) (ruqi.Record, error)
	put    func(context.Context, ...ruqi.Record) error
	list   func(context.Context, string, string, string, int) ([]ruqi.Record, error)
	add    func(context.Context, string, []byte) (string, error)
}

func (b *broken) EditJobs(ctx context.Context, q ruqi.JobQuery, d decideEdit) ([]ruqi.JobRecord, []ruqi.Run, error) {
	if b.edit != nil {
		return b.edit(ctx, q, d)
	}
	return b.Store.EditJobs(ctx, q, d)
}

func (b *broken) Jobs(ctx context.Context, q ruqi.JobQuery) (ruqi.JobRecordPage, error) {
	if b.jobs != nil {
		return b.jobs(ctx, q)
	}
	return b.Store.Jobs(ctx, q)
}

func (b *broken) Claim(ctx context.Context, r ruqi.ClaimRequest, d decideClaim) (ruqi.Claimed, error) {
	if b.claim != nil {
		return b.claim(ctx, r, d)
	}
	return b.Store.Claim(ctx, r, d)
}

func (b *broken) Finish(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
	if b.finish != nil {
		return b.finish(ctx, o, done)
	}
	return b.Store.Finish(ctx, o, done)
}

func (b *broken) WriteRuns(ctx context.Context, o ruqi.Owner, u []ruqi.RunUpdate) ([]int64, error) {
	if b.write != nil {
		return b.write(ctx, o, u)
	}
	return b.Store.WriteRuns(ctx, o, u)
}

func (b *broken) Beat(ctx context.Context, i ruqi.Instance) (ruqi.Instance, error) {
	if b.beat != nil {
		return b.beat(ctx, i)
	}
	return b.Store.Beat(ctx, i)
}

func (b *broken) Rescue(ctx context.Context, o ruqi.Owner, limit int, d decideDead) ([]ruqi.Run, error) {
	if b.rescue != nil {
		return b.rescue(ctx, o, limit, d)
	}
	return b.Store.Rescue(ctx, o, limit, d)
}

func (b *broken) Cancel(ctx context.Context, run int64, by string) (ruqi.Run, error) {
	if b.cancel != nil {
		return b.cancel(ctx, run, by)
	}
	return b.Store.Cancel(ctx, run, by)
}

func (b *broken) Runs(ctx context.Context, q ruqi.RunQuery) (ruqi.RunPage, error) {
	if b.runs != nil {
		return b.runs(ctx, q)
	}
	return b.Store.Runs(ctx, q)
}

func (b *broken) Clean(ctx context.Context, r ruqi.Retention) (int, error) {
	if b.clean != nil {
		return b.clean(ctx, r)
	}
	return b.Store.Clean(ctx, r)
}

func (b *broken) Count(ctx context.Context) (ruqi.Counts, error) {
	if b.count != nil {
		return b.count(ctx)
	}
	return b.Store.Count(ctx)
}

func (b *broken) Get(ctx context.Context, kind, key string) (ruqi.Record, error) {
	if b.get != nil {
		return b.get(ctx, kind, key)
	}
	return b.Store.Get(ctx, kind, key)
}

func (b *broken) Put(ctx context.Context, r ...ruqi.Record) error {
	if b.put != nil {
		return b.put(ctx, r...)
	}
	return b.Store.Put(ctx, r...)
}

func (b *broken) List(ctx context.Context, kind, prefix, after string, limit int) ([]ruqi.Record, error) {
	if b.list != nil {
		return b.list(ctx, kind, prefix, after, limit)
	}
	return b.Store.List(ctx, kind, prefix, after, limit)
}

func (b *broken) Append(ctx context.Context, kind string, data []byte) (string, error) {
	if b.add != nil {
		return b.add(ctx, kind, data)
	}
	return b.Store.Append(ctx, kind, data)
}

// breaking plants a fault in a good store.
func breaking(what, rule string, plant func(*broken)) fault {
	return fault{what, rule, func(o jobstoretest.Options) jobstoretest.Store {
		b := &broken{Store: good(o)}
		plant(b)
		return b
	}}
}
