package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/trigger"
)

// otherFlag says to which flag a text belongs that was given to --every or --cron, and that is none for it; nil: to none of them.
func otherFlag(flag, text string, now time.Time) error {
	other, what := "cron", "a cron expression; give it to --cron"
	if flag == "cron" {
		other, what = "every", "words; give them to --every"
	}
	if flag != "cron" && flag != "every" {
		return nil
	}
	if _, err := trigger.Parse(other, text, trigger.ParseOptions{Now: now}); err != nil {
		return nil
	}
	return ruqi.Invalid("", text, "%q is %s", text, what)
}

// refuseFor refuses the flags of tasks of another kind.
func (f *jobFlags) refuseFor(kind any, faults *ruqi.Faults) {
	switch kind {
	case "webhook":
		f.refuse(faults, "is for commands, not for --webhook", "env", "dir", "user", "umask", "nice", "login", "stdin", "limit")
	case "command":
		f.refuse(faults, "is for --webhook, not for commands", "method", "header", "body", "expect")
	}
}

// explainRefused says of a change that the service refused which flags are for a task of another kind than the job has: the service knows
// their members only as unknown ones.
func (f *jobFlags) explainRefused(ctx context.Context, c *client.Client, id string, patch members, err error) error {
	var invalid *ruqi.InvalidError
	if t, _ := patch["task"].(members); t == nil || t["kind"] != nil || !errors.As(err, &invalid) {
		return err
	}
	job, lookErr := c.Job(ctx, id)
	if lookErr != nil || job.Task == nil {
		return err // what the service said stands
	}
	var faults ruqi.Faults
	f.refuseFor(job.Task.Kind(), &faults)
	var foreign *ruqi.InvalidError
	if !errors.As(faults.Err(), &foreign) {
		return err
	}
	for _, fault := range invalid.Faults {
		if !slices.ContainsFunc(foreign.Faults, func(told ruqi.Fault) bool { return told.Pointer == fault.Pointer }) {
			faults.Add(fault.Pointer, fault.Value, "%s", fault.Message)
		}
	}
	return faults.Err()
}
