package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "See runs and their output, and end them"}
	cmd.AddCommand(a.runListCommand(), a.runLogsCommand(),
		&cobra.Command{
			Use: "get RUN", Aliases: []string{"show"}, Short: "Show a run", Args: exactly("a run's id"),
			RunE: a.withRun(func(ctx context.Context, c *client.Client, id int64) error {
				run, err := c.FindRun(ctx, id)
				if err != nil {
					return err
				}
				return a.showRun(run, ruqi.HostZone())
			}),
		},
		&cobra.Command{
			Use: "cancel RUN", SuggestFor: []string{"stop", "kill", "end", "abort"}, Short: "Ask a run to end", Args: exactly("a run's id"),
			RunE: a.withRun(func(ctx context.Context, c *client.Client, id int64) error {
				run, err := c.CancelRun(ctx, id, "")
				if err != nil {
					return err
				}
				if a.output == "json" {
					return a.printJSON(wire.FromRun(run))
				}
				if run.State.Ended() {
					return a.print("run %d: %s\n", run.ID, run.State)
				}
				return a.print("run %d: asked to end\n", run.ID)
			}),
		},
	)
	return group(cmd)
}

// withRun gives a command its client and its run.
func (a *app) withRun(do func(ctx context.Context, c *client.Client, id int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return usage("%q is no id of a run: they are whole numbers from 1 up", args[0])
		}
		return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error { return do(ctx, c, id) })(cmd, args)
	}
}

func (a *app) runListCommand() *cobra.Command {
	var p paging
	var query ruqi.RunQuery
	var states []string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List runs, newest first", Args: exactly(),
		Long: "Lists runs and the fires that did not run, newest first. Times are those of this host's zone (TZ says another)."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.check(cmd.Flags()); err != nil {
			return err
		}
		if cmd.Flags().Changed("job") && query.Job == "" {
			return usage("--job: empty; leave it out to see the runs of all jobs")
		}
		for _, state := range states {
			if !slices.Contains(ruqi.RunStates(), ruqi.RunState(state)) {
				return usage("--state: %q is unknown; %s", state, wire.Instead(state, ruqi.RunStates()...))
			}
			query.States = append(query.States, ruqi.RunState(state))
		}
		return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
			runs, next, err := list(p, func(cursor string, limit int) ([]ruqi.Run, string, error) {
				query.Cursor, query.Limit = cursor, limit
				page, err := c.Runs(ctx, query)
				return page.Runs, page.Next, err
			})
			if err != nil {
				return err
			}
			if len(runs) == 0 && query.Job != "" {
				if _, err := c.Job(ctx, query.Job); errors.Is(err, ruqi.ErrNotFound) {
					_, _ = fmt.Fprintf(a.Stderr, "there is no job %q\n", query.Job) // a hint only: one that was removed has runs
				}
			}
			if a.output == "json" {
				return a.printJSON(wire.FromRunPage(ruqi.RunPage{Runs: runs, Next: next}))
			}
			return a.printRuns(runs, next, ruqi.HostZone())
		})(cmd, args)
	}
	flags := cmd.Flags()
	flags.StringVar(&query.Job, "job", "", "runs of the job with that `id`")
	flags.StringArrayVar(&states, "state", nil, "runs in that `state`; given again: in any of them")
	p.register(flags)
	return cmd
}

// printRuns lists runs in one zone, so that times can be compared; the jobs' own zones may differ.
func (a *app) printRuns(runs []ruqi.Run, next string, zone *time.Location) error {
	t := &table{flexible: 7}
	t.row("RUN", "JOB", "STATE", "CAUSE", "NOMINAL", "STARTED", "TOOK", "REASON")
	for _, run := range runs {
		t.row(fmt.Sprint(run.ID), run.JobID, string(run.State), string(run.Cause),
			clock(seconds(&run.Nominal), zone), clock(seconds(run.Started), zone), runTook(run), runReason(run, zone))
	}
	if err := a.printTable(t); err != nil {
		return err
	}
	a.more(next)
	return nil
}

// runReason says what a row alone does not: why it is as it is, which fires it stands for, how far it is, and who wants
// it to end.
func runReason(run ruqi.Run, zone *time.Location) string {
	var parts []string
	if run.Reason != "" {
		parts = append(parts, run.Reason)
	}
	if run.Coalesced > 0 {
		text := fmt.Sprintf("stands for %d more", run.Coalesced)
		if run.CoalescedFrom != nil {
			since, nominal := wire.In(*run.CoalescedFrom, zone), wire.In(run.Nominal, zone)
			layout := time.TimeOnly
			if since.Format(time.DateOnly) != nominal.Format(time.DateOnly) {
				layout = time.DateTime
			}
			text += " since " + since.Format(layout)
		}
		parts = append(parts, text)
	}
	if run.Progress != nil && !run.State.Ended() {
		parts = append(parts, progress(run))
	}
	if run.CancelBy != "" && !run.State.Ended() {
		parts = append(parts, "cancel asked by "+run.CancelBy)
	}
	return strings.Join(parts, "; ")
}

// progress shows how far the run said it was: whole percents, of which 100 means that all is done.
func progress(run ruqi.Run) string {
	const rounding = 1e-9 // 0.29 is a little less in binary
	percent := fmt.Sprintf("%d%%", int(*run.Progress*100+rounding))
	if run.ProgressText == "" {
		return percent
	}
	return percent + ", " + run.ProgressText
}

// seconds cuts a time for a list, where microseconds only hide the rest.
func seconds(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.Truncate(time.Second)
	return &whole
}

// runTook shows how long a run took. When a lost one ended, nobody saw.
func runTook(run ruqi.Run) string {
	if run.Started == nil || run.Finished == nil || run.State == ruqi.RunLost {
		return "-"
	}
	return took(run.Finished.Sub(*run.Started))
}

func (a *app) showRun(run ruqi.Run, zone *time.Location) error {
	if a.output == "json" {
		return a.printJSON(wire.FromRun(run))
	}
	t := &table{}
	t.row("run", fmt.Sprint(run.ID))
	t.row("job", run.JobID)
	t.lines("task", run.Task)
	t.row("state", string(run.State))
	t.row("reason", orDash(run.Reason))
	t.row("cause", string(run.Cause))
	t.row("attempt", fmt.Sprint(run.Attempt))
	t.row("nominal", clock(&run.Nominal, zone))
	t.row("due", clock(&run.Due, zone))
	t.row("started", clock(run.Started, zone))
	t.row("finished", clock(run.Finished, zone))
	t.row("took", runTook(run))
	t.row("instance", orDash(run.Owner.Instance))
	if run.ExitCode != nil {
		t.row("exit code", fmt.Sprint(*run.ExitCode))
	}
	if run.Signal != "" {
		t.row("signal", run.Signal)
	}
	if run.Progress != nil {
		t.row("progress", progress(run))
	}
	if run.Result != nil {
		t.row("result", string(plainJSON(run.Result)))
	}
	output := size(run.OutputBytes)
	if run.OutputCut {
		output += ", the middle not kept"
	}
	t.row("output", output)
	if run.Coalesced > 0 {
		t.row("stands for", fmt.Sprintf("%d more since %s", run.Coalesced, clock(run.CoalescedFrom, zone)))
	}
	switch {
	case run.CancelBy != "" && run.State.Ended():
		t.row("cancelled by", run.CancelBy)
	case run.CancelBy != "":
		t.row("cancel asked by", run.CancelBy)
	}
	if run.CPU > 0 {
		t.row("CPU time", took(run.CPU))
	}
	if run.MaxRSS > 0 {
		t.row("memory", size(run.MaxRSS))
	}
	return a.printTable(t)
}

func (a *app) runLogsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs RUN", Aliases: []string{"output"}, Short: "Write what a run wrote, byte for byte", Args: exactly("a run's id"),
		RunE: a.withRun(func(ctx context.Context, c *client.Client, id int64) error {
			how := client.Kept
			if follow {
				how = client.Follow
			}
			return c.CopyOutput(ctx, a.Stdout, id, how)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	return cmd
}
