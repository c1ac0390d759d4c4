package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
)

// An outcome is what became of one job.
type outcome struct {
	job   ruqi.Job
	how   string // created, changed, unchanged; empty: it was not taken
	fault error
}

// Jobs are added in batches: a request and a step of the store for each job would be most of the work.
const (
	importBatch = 100       // jobs; a step of the store then takes some 10 ms
	importBytes = 512 << 10 // bytes of a batch, which is added to one job more; half of what the service takes
)

// A batch is some of the definitions, which go to the service together.
type batch struct {
	definitions []json.RawMessage
	places      []int
	bytes       int
	onConflict  ruqi.OnConflict
}

// addInBatches adds the definitions, some batches at a time, and returns what became of each. It stops when the service fails; the error
// says how. onConflict is asked for each of them what is to be done when its id is taken.
func addInBatches(ctx context.Context, c *client.Client, definitions []json.RawMessage, onConflict func(i int) ruqi.OnConflict) ([]outcome, error) {
	outcomes := make([]outcome, len(definitions))
	batches := inBatches(definitions, onConflict)
	var mu sync.Mutex // guards failed
	var failed error
	inParallel(ctx, len(batches), func(i int) bool {
		err := batches[i].add(ctx, c, outcomes)
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
		return err == nil
	})
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	return outcomes, failed
}

// inBatches parts the definitions into batches.
func inBatches(definitions []json.RawMessage, onConflict func(i int) ruqi.OnConflict) []batch {
	var batches []batch
	open := map[ruqi.OnConflict]int{} // the places of those that take more, from 1 on
	for i, text := range definitions {
		how := onConflict(i)
		if open[how] == 0 {
			batches = append(batches, batch{onConflict: how})
			open[how] = len(batches)
		}
		b := &batches[open[how]-1]
		b.definitions, b.places, b.bytes = append(b.definitions, text), append(b.places, i), b.bytes+len(text)
		if len(b.places) == importBatch || b.bytes > importBytes {
			delete(open, how)
		}
	}
	return batches
}

// add adds the jobs of the batch and notes what became of them: of all, also where the service failed at one. The error is that of the first
// at which it failed.
func (b *batch) add(ctx context.Context, c *client.Client, outcomes []outcome) error {
	added, err := c.AddDefinitions(ctx, b.definitions, b.onConflict)
	if err != nil {
		return err
	}
	var failed error
	for n, a := range added {
		switch {
		case a.Err == nil:
			outcomes[b.places[n]] = outcome{a.Job, howAdded(a), nil}
		case errors.Is(a.Err, ruqi.ErrInvalid) || errors.Is(a.Err, ruqi.ErrExists):
			outcomes[b.places[n]] = outcome{fault: a.Err}
		case failed == nil:
			failed = a.Err
		}
	}
	return failed
}

// summary counts what became of jobs, those that were refused left out. Where the service failed some may be in that it has not answered for.
func summary(outcomes []outcome, failed error) string {
	counts := map[string]int{}
	all, unknown := 0, 0
	for _, o := range outcomes {
		if o.fault != nil {
			continue
		}
		all++
		if counts[o.how]++; o.how == "" {
			unknown++
		}
	}
	text := fmt.Sprintf("%s: %d created, %d changed, %d unchanged", count(all, "job"), counts["created"], counts["changed"], counts["unchanged"])
	if failed != nil {
		text += fmt.Sprintf(", %d not known to be in (import again: what is in is not added twice)", unknown)
	}
	return text
}

// howAdded is what a job that was to be replaced has become.
func howAdded(a ruqi.Addition) string {
	switch {
	case a.Added == ruqi.Created:
		return "created"
	case a.Changed:
		return "changed"
	}
	return "unchanged"
}
