package cli

import (
	"context"
	"errors"
	"fmt"

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

// addFile adds the jobs of a file in order and stops at the first that fails. What can be
// checked here is checked for all of them before the first is added.
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
	var faults []error
	for _, d := range documents {
		faults = append(faults, d.Check(registry)...)
	}
	if len(faults) > 0 {
		return jobfile.Join(faults)
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
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
