package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/client"
)

const (
	// atOnce is how many requests are on their way: as many connections as a client keeps.
	atOnce = 8
	// raceTries bounds how often a job is looked at anew that others change at the same time.
	raceTries = 8
)

// inParallel does n things, a few at a time, until one returns false or ctx ends.
func inParallel(ctx context.Context, n int, do func(i int) bool) {
	var next atomic.Int64
	var stopped atomic.Bool
	var workers sync.WaitGroup
	for range min(n, atOnce) {
		workers.Go(func() {
			for !stopped.Load() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if !do(i) {
					stopped.Store(true)
				}
			}
		})
	}
	workers.Wait()
}

// take makes a step of each document. Of one in which something is wrong it is for what is not: the service may know of more that is.
func (p *plan) take(documents []checked) error {
	for _, d := range documents {
		s := &step{id: d.ID(), doc: d.Document}
		if len(d.faults) == 0 {
			text, err := p.definition(d.Document)
			if err != nil {
				return err
			}
			s.text = text
		} else {
			name, value := p.label()
			text, keep, ok := d.Rest(d.faults, name, value)
			if !ok {
				continue
			}
			s.text, s.keep = text, keep
		}
		p.steps = append(p.steps, s)
	}
	return nil
}

// make asks the service what the documents would change. faults is what is wrong with them; err is why it could not be asked.
func (p *plan) make(ctx context.Context, prune bool) (faults []error, err error) {
	wanted := make(map[string]*step, len(p.steps))
	for _, s := range p.steps {
		wanted[s.id] = s
	}
	stored := p.some
	if prune {
		stored = p.all
	}
	found, err := stored(ctx, wanted)
	if err != nil {
		return nil, err
	}
	inParallel(ctx, len(p.steps), func(i int) bool {
		s := p.steps[i]
		s.err = p.compare(ctx, s, found[s.id])
		return s.err == nil || errors.Is(s.err, ruqi.ErrInvalid) || isFault(s.err)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, s := range p.steps {
		switch {
		case s.err == nil:
		case errors.Is(s.err, ruqi.ErrInvalid) || isFault(s.err):
			faults = append(faults, s.wrong()...)
		default:
			err = s.err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if job := found[id]; wanted[id] == nil && prune && job.Labels[setLabel] == p.set {
			p.steps = append(p.steps, &step{id: id, action: remove, before: job})
		}
	}
	return faults, err
}

// wrong tells what the service found in the definition, each with its place.
func (s *step) wrong() []error {
	if s.keep != nil {
		return s.keep(s.doc.Faults(s.err))
	}
	return s.doc.Faults(s.err)
}

func isFault(err error) bool {
	var fault *jobfile.Fault
	return errors.As(err, &fault)
}

// definition is the document's job, in the set.
func (p *plan) definition(d *jobfile.Document) ([]byte, error) {
	return d.Definition(p.label())
}

// label is what the jobs of the set are marked with; empty where they belong to none.
func (p *plan) label() (name, value string) {
	if p.set == "" {
		return "", ""
	}
	return setLabel, p.set
}

// all returns the stored jobs that are wanted or belong to the set.
func (p *plan) all(ctx context.Context, wanted map[string]*step) (map[string]*ruqi.Job, error) {
	found := map[string]*ruqi.Job{}
	err := eachJob(ctx, p.client, ruqi.JobQuery{}, func(job ruqi.Job) {
		if wanted[job.ID] != nil || job.Labels[setLabel] == p.set {
			found[job.ID] = &job
		}
	})
	return found, err
}

// some returns the stored jobs that are wanted.
func (p *plan) some(ctx context.Context, wanted map[string]*step) (map[string]*ruqi.Job, error) {
	ids := make([]string, 0, len(wanted))
	for _, s := range p.steps {
		ids = append(ids, s.id)
	}
	return storedJobs(ctx, p.client, ids)
}

// storedJobs returns those of the ids that are stored.
func storedJobs(ctx context.Context, c *client.Client, ids []string) (map[string]*ruqi.Job, error) {
	var parts [][]string
	for part := range slices.Chunk(ids, idsAsked) {
		parts = append(parts, part)
	}
	found := map[string]*ruqi.Job{}
	var mu sync.Mutex // guards found and failed
	var failed error
	inParallel(ctx, len(parts), func(i int) bool {
		page, err := c.Jobs(ctx, ruqi.JobQuery{IDs: parts[i], Limit: ruqi.MaxPage})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = err
		}
		for i := range page.Jobs {
			found[page.Jobs[i].ID] = &page.Jobs[i]
		}
		return err == nil
	})
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	return found, failed
}

// compare asks the service what the step's definition would make of the stored job; nil: there is none.
func (p *plan) compare(ctx context.Context, s *step, before *ruqi.Job) (err error) {
	for range raceTries {
		s.before, s.action, s.differences, s.secret, s.resume, s.adopted = before, create, nil, false, false, false
		if before != nil {
			if err := p.mayTake(s); err != nil {
				return err
			}
		}
		var added ruqi.Added
		if s.after, added, err = p.client.RehearseDefinition(ctx, s.text, ruqi.Replace); err != nil {
			return err
		}
		raced := (added == ruqi.Created) != (before == nil) || before != nil && s.after.Version != before.Version && s.after.Version != before.Version+1
		if !raced {
			if before == nil {
				return nil
			}
			if err := s.judge(); err != nil || !s.secret {
				return err
			}
			// What cannot be seen may be a secret, or a change of the job since it was read.
		}
		again, err := p.stored(ctx, s.id)
		if err != nil {
			return err
		}
		if !raced && again != nil && again.Version == before.Version {
			return nil
		}
		before = again
	}
	return fmt.Errorf("job %q was changed %d times while it was looked at: %w", s.id, raceTries, ruqi.ErrVersion)
}

// stored returns the job of the id; nil: there is none.
func (p *plan) stored(ctx context.Context, id string) (*ruqi.Job, error) {
	job, err := p.client.Job(ctx, id)
	switch {
	case errors.Is(err, ruqi.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &job, nil
}

// mayTake refuses the job of another set.
func (p *plan) mayTake(s *step) error {
	set := s.before.Labels[setLabel]
	if set != "" && set != p.set && !p.takeOver {
		hint := "--set " + set + " names it"
		if p.set != "" {
			hint = "--take-over takes the job from it"
		}
		return s.doc.Fault("/id", fmt.Sprintf("%q belongs to the set %q; %s", s.id, set, hint))
	}
	s.adopted = p.set != "" && set != p.set
	return nil
}

// judge decides what the step does to the job that is there.
func (s *step) judge() (err error) {
	s.differences, err = jobfile.Differences(s.before.JobSpec, s.after.JobSpec, s.doc.Gives)
	s.resume = s.doc.State() == string(ruqi.JobActive) && s.before.State == ruqi.JobPaused
	if s.resume {
		s.after.State = ruqi.JobActive
	}
	s.secret = s.rewritten() && len(s.differences) == 0 && s.before.State == s.after.State
	if s.before.State != s.after.State && (s.resume || s.rewritten()) {
		s.differences = append(s.differences, jobfile.Difference{Pointer: "/state", Old: string(s.before.State), New: string(s.after.State)})
	}
	s.action = unchanged
	if s.rewritten() || s.resume {
		s.action = change
	}
	return err
}

// rewritten reports whether the service would store the definition anew.
func (s *step) rewritten() bool { return s.after.Version != s.before.Version }

// write does the steps: first the jobs of the files, then, if all went well, the removals. It stops at the first failure; what
// was done stays, and doing it all again goes on from there.
func (p *plan) write(ctx context.Context) error {
	var writes, removals []*step
	for _, s := range p.steps {
		switch s.action {
		case unchanged:
			s.done = true
		case remove:
			removals = append(removals, s)
		default:
			writes = append(writes, s)
		}
	}
	for _, part := range []struct {
		steps []*step
		do    func(context.Context, *step) error
	}{{writes, p.writeJob}, {removals, p.removeJob}} {
		inParallel(ctx, len(part.steps), func(i int) bool {
			s := part.steps[i]
			s.err = part.do(ctx, s)
			s.done = s.err == nil
			return s.done
		})
		if err := p.failure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// failure tells what went wrong, and what was not done for it.
func (p *plan) failure(ctx context.Context) error {
	var faults, rest []error
	left := 0
	for _, s := range p.steps {
		switch {
		case s.err != nil && s.doc != nil:
			faults = append(faults, s.doc.Faults(s.told(ctx))...)
		case s.err != nil:
			faults = append(faults, s.told(ctx))
		case !s.done:
			left++
			rest = append(rest, fmt.Errorf("not done: %s", s.id))
		}
	}
	if len(faults) == 0 && ctx.Err() != nil {
		faults = append(faults, context.Cause(ctx))
	}
	if len(faults) == 0 {
		return nil
	}
	if left > maxNotDone {
		rest = append(rest[:maxNotDone:maxNotDone], fmt.Errorf("not done: %d more", left-maxNotDone))
	}
	err := errors.Join(append(append(faults, rest...), errors.New("what was done stays; apply again to go on"))...)
	if exitStatus(err) == exitUsage {
		err = &statusError{err, exitFailed} // the input was good when it was checked, and some of it is done
	}
	return err
}

const maxNotDone = 50 // jobs that are named; enough to see which

// told is the step's error with the job it is about.
func (s *step) told(ctx context.Context) error {
	if errors.Is(s.err, client.ErrUnreachable) || ctx.Err() != nil {
		return fmt.Errorf("job %q: nobody knows whether it was %s, since the answer was lost: %w", s.id, s.action, s.err)
	}
	if errors.Is(s.err, ruqi.ErrInvalid) || isFault(s.err) || strings.Contains(s.err.Error(), fmt.Sprintf("%q", s.id)) {
		return s.err
	}
	return fmt.Errorf("job %q: %w", s.id, s.err)
}

// writeJob creates or changes the job, at the version that was looked at. When somebody was faster it looks again.
func (p *plan) writeJob(ctx context.Context, s *step) error {
	var err error
	for range raceTries {
		switch {
		case s.action == unchanged:
			return nil
		case s.before == nil:
			s.after, _, err = p.client.AddDefinition(ctx, s.text, ruqi.Fail)
		case s.rewritten():
			s.after, err = p.client.ReplaceDefinition(ctx, s.text, s.before.Version)
		}
		if err == nil && s.resume {
			s.after, err = p.client.ResumeJob(ctx, s.id)
		}
		if !errors.Is(err, ruqi.ErrVersion) && !errors.Is(err, ruqi.ErrExists) && !errors.Is(err, ruqi.ErrNotFound) {
			return err
		}
		before, again := p.stored(ctx, s.id)
		if again != nil {
			return again
		}
		if again := p.compare(ctx, s, before); again != nil {
			return again
		}
	}
	return err
}

// removeJob removes the job at the version that was looked at: one that was given to another set meanwhile stays.
func (p *plan) removeJob(ctx context.Context, s *step) error {
	for range raceTries {
		n, err := p.client.RemoveJobs(ctx, ruqi.JobQuery{IDs: []string{s.id}, Version: s.before.Version})
		if err != nil || n > 0 {
			return err
		}
		now, err := p.stored(ctx, s.id)
		switch {
		case err != nil:
			return err
		case now == nil:
			return nil // somebody else removed it
		case now.Labels[setLabel] != p.set:
			s.action = unchanged
			return nil
		}
		s.before = now
	}
	return fmt.Errorf("job %q was changed %d times while it was to be removed: %w", s.id, raceTries, ruqi.ErrVersion)
}
