package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

// paging are the flags of a list.
type paging struct {
	limit  int
	cursor string
	all    bool
}

func (p *paging) register(set *pflag.FlagSet) {
	set.IntVar(&p.limit, "limit", ruqi.DefaultPage, "how `many`, 1 to 1000")
	set.StringVar(&p.cursor, "cursor", "", "go on where a list ended: its `next_cursor`")
	set.BoolVar(&p.all, "all", false, "all there are")
}

func (p *paging) check(set *pflag.FlagSet) error {
	if p.limit < 1 || p.limit > ruqi.MaxPage {
		return usage("--limit: %d is out of range (1-%d)", p.limit, ruqi.MaxPage)
	}
	if p.all && set.Changed("limit") {
		return usage("--all and --limit do not go together")
	}
	if p.all {
		p.limit = ruqi.MaxPage
	}
	return nil
}

// list fetches one page, or all of them.
func list[T any](p paging, page func(cursor string, limit int) (items []T, next string, err error)) (items []T, next string, err error) {
	cursor := p.cursor
	for {
		some, next, err := page(cursor, p.limit)
		if err != nil {
			return nil, "", err
		}
		items = append(items, some...)
		if !p.all || next == "" {
			return items, next, nil
		}
		cursor = next
	}
}

// more says on standard error that a table is not all there is.
func (a *app) more(next string) {
	if next != "" {
		_, _ = fmt.Fprintln(a.Stderr, "there are more; --all lists them all") // a hint only
	}
}

func jobState(text string) error {
	switch ruqi.JobState(text) {
	case "", ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished:
		return nil
	}
	return usage("--state: %q is unknown; %s", text, wire.Instead(text, ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished))
}

func (a *app) jobListCommand() *cobra.Command {
	var p paging
	var query ruqi.JobQuery
	var state, sort string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List jobs", Args: exactly(), Long: "Lists jobs. NEXT is in the zone of each job's trigger."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(p.check(cmd.Flags()), jobState(state)); err != nil {
			return err
		}
		query.State, query.Sort = ruqi.JobState(state), ruqi.JobSort(sort)
		switch query.Sort {
		case ruqi.SortID, ruqi.SortNext, ruqi.SortName, ruqi.SortCreated, ruqi.SortNewest:
		default:
			return usage("--sort: %q is unknown; %s", sort, wire.Instead(sort, ruqi.SortID, ruqi.SortNext, ruqi.SortName, ruqi.SortCreated, ruqi.SortNewest))
		}
		return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
			var total int64
			jobs, next, err := list(p, func(cursor string, limit int) ([]ruqi.Job, string, error) {
				query.Cursor, query.Limit = cursor, limit
				page, err := c.Jobs(ctx, query)
				total = page.Total
				return page.Jobs, page.Next, err
			})
			if err != nil {
				return err
			}
			if len(jobs) == 0 {
				a.tellNone(cmd.Flags())
			}
			return a.printJobs(ruqi.JobPage{Jobs: jobs, Next: next, Total: total})
		})(cmd, args)
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "jobs in that `state`: active, paused or finished")
	flags.StringArrayVar(&query.Tags, "tag", nil, "jobs with that `tag`; given again: with all of them")
	flags.StringVar(&query.Search, "search", "", "jobs whose id or name contains the `text`")
	flags.StringVar(&query.Name, "name", "", "jobs of that `name`")
	flags.StringVar(&query.Pool, "executor", "", "jobs of that `pool`")
	flags.StringVar(&sort, "sort", string(ruqi.SortID), "`order`: id, next, name, created or newest (the latest created first)")
	p.register(flags)
	return cmd
}

// tellNone says on standard error which filters no job passes, where there are some: a slip in one looks like a store without jobs.
func (a *app) tellNone(set *pflag.FlagSet) {
	var given []string
	for _, name := range []string{"tag", "state", "search", "name", "executor"} {
		if flag := set.Lookup(name); flag.Changed {
			given = append(given, "--"+name+" "+strings.Trim(flag.Value.String(), "[]"))
		}
	}
	if len(given) > 0 {
		_, _ = fmt.Fprintf(a.Stderr, "there is no job with %s\n", escape(strings.Join(given, " ")))
	}
}

func (a *app) printJobs(page ruqi.JobPage) error {
	if a.output == "json" {
		shape, err := wire.FromJobPage(page)
		if err != nil {
			return err
		}
		return a.printJSON(shape)
	}
	t := &table{flexible: 4}
	t.row("ID", "STATE", "NEXT", "TRIGGER", "TASK", "TAGS")
	for _, job := range page.Jobs {
		id := job.ID
		if job.Name != job.ID {
			id += " (" + job.Name + ")"
		}
		state := string(job.State)
		if job.Parked != "" {
			state += ", parked"
		}
		t.row(id, state, clock(seconds(job.NextDue), wire.Zone(job.Trigger)), listedTrigger(job.Trigger), taskText(job.Task), strings.Join(job.Tags, ","))
	}
	if err := a.printTable(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}

func (a *app) jobRemoveCommand() *cobra.Command {
	var query ruqi.JobQuery
	var state string
	var all bool
	cmd := &cobra.Command{
		Use: "remove ID… | --tag T | --state S | --all", Aliases: []string{"rm"}, SuggestFor: []string{"delete", "del"}, Short: "Remove jobs; their history stays",
		RunE: func(cmd *cobra.Command, ids []string) error {
			filtered := all || state != "" || len(query.Tags) > 0
			switch err := jobState(state); {
			case err != nil:
				return err
			case filtered && len(ids) > 0:
				return usage("%s takes ids or a filter, not both", cmd.CommandPath())
			case !filtered:
				if err := someIDs(cmd, ids); err != nil {
					return usage("%s wants ids, or one of --tag, --state and --all", cmd.CommandPath())
				}
			}
			return a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
				removed := 0
				var gone strings.Builder
				var err error
				if filtered {
					query.State = ruqi.JobState(state)
					removed, err = c.RemoveJobs(ctx, query)
				} else {
					err = each(ids, func(id string) error {
						err := c.RemoveJob(ctx, id)
						if err == nil {
							removed++
							fmt.Fprintf(&gone, "removed %s\n", escape(id))
						}
						return err
					})
				}
				if removed == 0 && err != nil {
					return err
				}
				if a.output == "json" {
					return errors.Join(a.printJSON(map[string]int{"removed": removed}), err)
				}
				if !filtered {
					return errors.Join(a.print("%s", gone.String()), err)
				}
				return errors.Join(a.print("removed %d\n", removed), err)
			})(cmd, ids)
		},
	}
	cmd.Flags().StringArrayVar(&query.Tags, "tag", nil, "jobs with that `tag`; given again: with all of them")
	cmd.Flags().StringVar(&state, "state", "", "jobs in that `state`: active, paused or finished")
	cmd.Flags().BoolVar(&all, "all", false, "all jobs")
	return cmd
}

// eachJob calls do with all jobs of a query, page by page.
func eachJob(ctx context.Context, c *client.Client, query ruqi.JobQuery, do func(ruqi.Job)) error {
	query.Limit = ruqi.MaxPage
	for {
		page, err := c.Jobs(ctx, query)
		if err != nil {
			return err
		}
		for _, job := range page.Jobs {
			do(job)
		}
		if query.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
}
