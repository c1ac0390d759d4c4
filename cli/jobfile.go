package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/standard"
)

// readJobFile reads the documents of a job file. "-" is standard input.
func (a *app) readJobFile(name string) ([]*jobfile.Document, error) {
	data, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	documents, err := jobfile.Read(escape(shownInput(name)), data)
	for _, d := range documents {
		for _, note := range d.Notes() {
			_, _ = fmt.Fprintln(a.Stderr, "ruqi: "+escape(note)) // a hint only
		}
	}
	return documents, err
}

// addFile adds the jobs of a file in order and stops at the first that fails. All of them are checked before the first is added,
// by the service too.
func (a *app) addFile(ctx context.Context, name string, onConflict ruqi.OnConflict) error {
	documents, err := a.readJobFile(name)
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		return usage("--file: %v", err)
	case err != nil:
		return err
	case len(documents) == 0:
		return usage("%s: there is no job in it", name)
	}
	registry := standard.Registry(standard.Options{Calendars: elsewhere{}})
	p := &plan{}
	all := make([]checked, len(documents))
	var faults []error
	for i, d := range documents {
		all[i] = checked{d, d.Check(registry)}
		faults = append(faults, all[i].faults...)
	}
	if onConflict == "" || onConflict == ruqi.Fail {
		faults = append(faults, jobfile.CheckTwins(documents)...) // the second would be refused when the first is added
	}
	if err := p.take(all); err != nil {
		return err
	}
	if len(p.steps) == 0 {
		return jobfile.Join(faults)
	}
	c, err := a.connect()
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	defer c.Close()
	p.client = c
	more, taken, failed := p.rehearse(ctx, onConflict)
	switch faults = slices.Concat(faults, more, taken); {
	case len(faults) > 0:
		return jobfile.Join(faults)
	case failed != nil:
		return failed
	}
	var jobs []ruqi.Job
	var done, ids []string
	for _, d := range documents {
		text, err := d.Definition("", "")
		if err != nil {
			return err
		}
		job, added, err := c.AddDefinition(ctx, text, onConflict)
		if err != nil {
			// Input that the service refuses leaves standard output empty; what was added before it stays.
			a.Stdout, a.output = a.Stderr, "table"
			told := a.printChanged(jobs, done...)
			if exitStatus(err) == exitFailed {
				err = fmt.Errorf("%s: %w", d.Where(""), err)
			}
			return errors.Join(append(d.Faults(err), told)...)
		}
		jobs, done, ids = append(jobs, job), append(done, string(added)), append(ids, job.ID)
	}
	defer a.tellParked(ctx, c, ids...)
	return a.printChanged(jobs, done...)
}

// rehearse asks the service what it would say to each definition. faults is what is wrong with them, taken which of them have ids that other
// jobs have; err is why it would not take one all the same, or could not be asked.
func (p *plan) rehearse(ctx context.Context, onConflict ruqi.OnConflict) (faults, taken []error, err error) {
	inParallel(ctx, len(p.steps), func(i int) bool {
		s := p.steps[i]
		_, _, s.err = p.client.RehearseDefinition(ctx, s.text, onConflict)
		return s.err == nil || errors.Is(s.err, ruqi.ErrInvalid) || errors.Is(s.err, ruqi.ErrExists)
	})
	for _, s := range p.steps {
		switch {
		case s.err == nil:
		case errors.Is(s.err, ruqi.ErrInvalid):
			faults = append(faults, s.wrong()...)
		case errors.Is(s.err, ruqi.ErrExists):
			taken = append(taken, fmt.Errorf("%s: %w", s.doc.Where(""), s.err))
		case err == nil:
			err = s.err
			if exitStatus(err) == exitFailed {
				err = fmt.Errorf("%s: %w", s.doc.Where(""), err)
			}
		}
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return faults, taken, err
}
