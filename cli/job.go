package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) jobCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "job", Short: "Add, see and change jobs"}
	cmd.AddCommand(
		a.jobAddCommand(), a.jobModifyCommand(), a.jobListCommand(), a.jobRemoveCommand(), a.jobRunCommand(),
		&cobra.Command{
			Use: "get ID", Aliases: []string{"show"}, Short: "Show a job", Args: exactly("an id"),
			RunE: a.withClient(func(ctx context.Context, c *client.Client, args []string) error {
				job, err := c.Job(ctx, args[0])
				if err != nil {
					return err
				}
				fires, err := describeJob(ctx, c, job)
				if err != nil {
					return err
				}
				return a.showJob(job, fires)
			}),
		},
		a.jobVerb("pause", "Take fires away from jobs until they are resumed", "paused", (*client.Client).PauseJob, "disable", "suspend", "stop"),
		a.jobVerb("resume", "Give jobs their fires back, from now on", "resumed", (*client.Client).ResumeJob, "enable", "unpause"),
	)
	return group(cmd)
}

// withClient gives a command its client.
func (a *app) withClient(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd.Context(), c, args)
	}
}

// someIDs wants at least one argument, none of them empty.
func someIDs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s wants at least one id", cmd.CommandPath())
	}
	for _, arg := range args {
		if arg == "" {
			return usage("%s: an id is empty", cmd.CommandPath())
		}
	}
	return nil
}

// jobVerb is a command that does the same to each job named. It is suggested for the other words.
func (a *app) jobVerb(name, short, done string, do func(*client.Client, context.Context, string) (ruqi.Job, error), others ...string) *cobra.Command {
	return &cobra.Command{Use: name + " ID…", SuggestFor: others, Short: short, Args: someIDs, RunE: a.withClient(func(ctx context.Context, c *client.Client, ids []string) error {
		var jobs []ruqi.Job
		err := each(ids, func(id string) error {
			job, err := do(c, ctx, id)
			if err == nil {
				jobs = append(jobs, job)
			}
			return err
		})
		return errors.Join(a.printChanged(jobs, done), err)
	})}
}

// each does all and returns the errors joined: one job that is gone does not keep the
// others from their turn.
func each(ids []string, do func(id string) error) error {
	var all []error
	for _, id := range ids {
		err := do(id)
		all = append(all, err)
		if err != nil && !errors.Is(err, ruqi.ErrNotFound) {
			break
		}
	}
	return errors.Join(all...)
}

// printChanged says what was done to jobs. As JSON one is an object, several are a list.
func (a *app) printChanged(jobs []ruqi.Job, done ...string) error {
	if a.output == "json" && len(jobs) > 0 {
		page, err := wire.FromJobPage(ruqi.JobPage{Jobs: jobs, Total: int64(len(jobs))})
		switch {
		case err != nil:
			return err
		case len(jobs) == 1:
			return a.printJSON(page.Items[0])
		}
		return a.printJSON(page)
	}
	for i, job := range jobs {
		word := done[min(i, len(done)-1)]
		if job.State == ruqi.JobFinished && (word == "paused" || word == "resumed") {
			word = "not " + word
		}
		if err := a.print("%s %s: %s, %s\n", word, escape(job.ID), job.State, nextOf(job)); err != nil {
			return err
		}
	}
	return nil
}

// nextOf says when a job fires next, or why it does not.
func nextOf(job ruqi.Job) string {
	switch {
	case job.NextDue != nil:
		return "next at " + clock(seconds(job.NextDue), wire.Zone(job.Trigger))
	case job.State == ruqi.JobPaused:
		return "no fire until it is resumed"
	case job.State == ruqi.JobFinished && job.StateReason != "":
		return escape(job.StateReason)
	}
	return "no fire to come"
}

func (a *app) jobAddCommand() *cobra.Command {
	f := &jobFlags{commandFlags: commandFlags{input: a.Stdin}}
	var file, onConflict string
	var paused bool
	cmd := &cobra.Command{
		Use:   "add [ID] [flags] [-- PROGRAM ARGUMENT…]",
		Short: "Add a job, or the jobs of a file",
		Example: "  ruqi job add hello --every '5 seconds' --command 'date'\n  ruqi job add nightly --cron '30 2 * * *' --tz Europe/Berlin -- /usr/local/bin/backup --full\n" +
			"  ruqi job add --file jobs.yaml --on-conflict replace",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, argv := atDash(cmd, args)
			switch {
			case onConflict != "" && onConflict != string(ruqi.Fail) && onConflict != string(ruqi.Keep) && onConflict != string(ruqi.Replace):
				return usage("--on-conflict: %q is unknown; %s", onConflict, wire.Instead(onConflict, ruqi.Fail, ruqi.Keep, ruqi.Replace))
			case cmd.Flags().Changed("file"):
				if given := append(f.definitionFlags(), args...); len(given) > 0 {
					return usage("--file says it all; it does not go with %s", strings.Join(given, ", "))
				}
				return a.addFile(cmd.Context(), file, ruqi.OnConflict(onConflict))
			case len(ids) > 1:
				return usage("%s takes one id, and has %d; a program and its arguments stand after --", cmd.CommandPath(), len(ids))
			case len(ids) == 1 && f.given("id"):
				return usage("--id and an argument both name the job")
			case len(ids) == 1 && ids[0] == "":
				return usage("ID: empty; leave it out to get a random one")
			}
			a.names, f.service = f.names, a.address()
			def, err := f.definition(time.Now(), argv)
			if err != nil {
				return err
			}
			if len(ids) == 1 {
				def["id"] = ids[0]
			}
			if paused {
				def["state"] = string(ruqi.JobPaused)
			}
			if t, _ := def["trigger"].(members); t == nil || t["kind"] == nil {
				return usage("when? give one of --cron, --every, --at and --trigger")
			}
			if t, _ := def["task"].(members); t == nil || t["kind"] == nil {
				return usage("what? give --command, or a program and its arguments after --, or --webhook")
			}
			return a.addOne(cmd.Context(), def, ruqi.OnConflict(onConflict))
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&f.id, "id", "", "the job's `id` (default: a random one)")
	cmd.Flags().BoolVar(&paused, "paused", false, "add it paused")
	cmd.Flags().StringVar(&file, "file", "", "YAML `file` of jobs, in the API's shape, separated by lines ---; - for standard input")
	cmd.Flags().StringVar(&onConflict, "on-conflict", "", "`what` to do when the id is taken: fail (default), keep or replace")
	return cmd
}

// atDash parts the arguments at "--".
func atDash(cmd *cobra.Command, args []string) (before, after []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func (a *app) addOne(ctx context.Context, def members, onConflict ruqi.OnConflict) error {
	text, err := encode(def)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	job, added, err := c.AddDefinition(ctx, text, onConflict)
	if err != nil {
		return err
	}
	defer a.tellParked(ctx, c, job.ID)
	return a.printChanged([]ruqi.Job{job}, string(added))
}

func (a *app) jobModifyCommand() *cobra.Command {
	f := &jobFlags{change: true, commandFlags: commandFlags{input: a.Stdin}}
	cmd := &cobra.Command{
		Use: "modify ID [flags] [-- PROGRAM ARGUMENT…]", SuggestFor: []string{"edit", "update", "change", "set"},
		Short: "Change what the flags name in a job",
		Long: "Changes what the flags name, and leaves the rest as it is. none takes an option away: --timeout none.\n" +
			"--label, --param and --env add to those there are; --label K- takes K away, --label none all of them. --tag replaces all tags;\n" +
			"--tag none leaves no tag, so that a tag cannot be called none here. A trigger of another kind keeps zone, start and end;\n" +
			"a task of another kind moves the job from the pool of the old kind to that of the new, unless --executor is given.",
		Example: "  ruqi job modify nightly --cron '0 4 * * *' --timeout none\n  ruqi job modify nightly --label team=ops --label shift- --tag none\n" +
			"  ruqi job modify hello --start '2030-06-01 09:00'",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, argv := atDash(cmd, args)
			if len(ids) != 1 || ids[0] == "" {
				return usage("%s wants the id of one job", cmd.CommandPath())
			}
			a.names, f.service = f.names, a.address()
			patch, err := f.definition(time.Now(), argv)
			if err != nil {
				return err
			}
			if t, _ := patch["task"].(members); t != nil {
				dropOtherTask(t)
			}
			if len(patch) == 0 {
				return usage("%s: nothing to change; the flags say what", cmd.CommandPath())
			}
			text, err := encode(patch)
			if err != nil {
				return err
			}
			return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
				job, err := c.PatchJob(ctx, ids[0], text)
				if err != nil {
					return f.explainRefused(ctx, c, ids[0], patch, err)
				}
				defer a.tellParked(ctx, c, job.ID)
				return a.printChanged([]ruqi.Job{job}, "modified")
			})(cmd, args)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// dropOtherTask takes away what a task of another kind, or the other form of a command, has left.
func dropOtherTask(t members) {
	drop := func(names ...string) {
		for _, name := range names {
			if _, given := t[name]; !given {
				t[name] = nil
			}
		}
	}
	switch {
	case t["kind"] == "webhook":
		drop("command", "argv", "shell", "env", "dir", "stdin", "user", "umask", "nice", "login", "limits")
	case t["argv"] != nil:
		drop("command", "shell", "url", "method", "headers", "body", "expect")
	case t["command"] != nil:
		drop("argv", "url", "method", "headers", "body", "expect")
	}
}

func (a *app) jobRunCommand() *cobra.Command {
	var wait bool
	var params paramFlags
	cmd := &cobra.Command{
		Use: "run ID", SuggestFor: []string{"start", "trigger", "exec"}, Short: "Run a job now, beside its schedule", Args: exactly("an id"),
		RunE: a.withClient(func(ctx context.Context, c *client.Client, args []string) error {
			a.names = params.name
			text, err := params.read()
			if err != nil {
				return err
			}
			run, err := c.RunNow(ctx, args[0], text)
			if err != nil {
				return err
			}
			if wait {
				run, err = a.waitRun(ctx, c, run)
			} else {
				defer a.tellParked(ctx, c, run.JobID)
			}
			if err != nil {
				return err
			}
			if a.output == "json" {
				err = a.printJSON(wire.FromRun(run))
			} else {
				err = a.print("run %d of %s: %s%s\n%s", run.ID, escape(run.JobID), run.State, because(run.Reason), resultLine(run))
			}
			if wait {
				a.tellRetries(ctx, c, run)
			}
			if err == nil && wait && run.State != ruqi.RunSucceeded {
				return &silentError{exitFailed}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for its end, saying why it does not begin, and show its result; exit status 1 unless it succeeded")
	params.register(cmd.Flags())
	return cmd
}

// queuedPatience is how long a run may stand in the queue before --wait says why it does.
const queuedPatience = 2 * time.Second

// waitRun waits for the end of a run. What keeps it from beginning is said once, on standard error.
func (a *app) waitRun(ctx context.Context, c *client.Client, run ruqi.Run) (ruqi.Run, error) {
	told := a.tellParked(ctx, c, run.JobID)
	if told && run.State == ruqi.RunQueued {
		_, _ = fmt.Fprintf(a.Stderr, "run %d of %s waits until one can; ruqi run cancel %d takes it back\n", run.ID, escape(run.JobID), run.ID) // a hint only
	}
	soon, cancel := context.WithTimeout(ctx, queuedPatience)
	ended, err := c.WaitRun(soon, run.ID)
	cancel()
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return ended, err
	}
	if now, err := c.FindRun(ctx, run.ID); err == nil && now.State == ruqi.RunQueued && !told {
		_, _ = fmt.Fprintf(a.Stderr, "run %d of %s is queued: it waits for a free slot, or for the job's other runs; see ruqi status\n", run.ID, escape(run.JobID)) // a hint only
	}
	return c.WaitRun(ctx, run.ID)
}

// tellRetries says on standard error that a run that was waited for is tried again.
func (a *app) tellRetries(ctx context.Context, c *client.Client, run ruqi.Run) {
	if run.State != ruqi.RunFailed && run.State != ruqi.RunTimedOut {
		return
	}
	job, err := c.Job(ctx, run.JobID)
	if err != nil || job.Policy.Retry == nil || run.Attempt > job.Policy.Retry.Max {
		return // it cannot be told, or there is nothing to tell
	}
	_, _ = fmt.Fprintf(a.Stderr, "this was attempt %d of %d; those that follow have runs of their own: ruqi run list --job %s\n", run.Attempt, job.Policy.Retry.Max+1, escape(job.ID)) // a hint only
}

// tellParked says on standard error which of the jobs no live instance can run, and why. It reports whether
// there was one.
func (a *app) tellParked(ctx context.Context, c *client.Client, ids ...string) bool {
	told := false
	for some := range slices.Chunk(ids, idsAsked) {
		page, err := c.Jobs(ctx, ruqi.JobQuery{IDs: some, Limit: ruqi.MaxPage})
		if err != nil {
			return told // what was asked for is done
		}
		for _, job := range page.Jobs {
			if job.Parked != "" {
				_, _ = fmt.Fprintf(a.Stderr, "%s: %s, but parked: %s\n", escape(job.ID), job.State, escape(job.Parked)) // a hint only
				told = true
			}
		}
	}
	return told
}

// idsAsked is how many ids are put into one query, which may be no longer than a header: an id takes 3 KiB at most.
const idsAsked = 20

// resultLine shows the result that the run gave, if it did.
func resultLine(run ruqi.Run) string {
	if run.Result == nil {
		return ""
	}
	return "result: " + escape(string(plainJSON(run.Result))) + "\n"
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + escape(reason)
}
