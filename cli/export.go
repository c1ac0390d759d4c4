package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/crontab"
)

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "export", Short: "Write jobs in the form of other schedulers"}
	cmd.AddCommand(a.exportCrontabCommand())
	return group(cmd)
}

func (a *app) exportCrontabCommand() *cobra.Command {
	var tags []string
	var prefix, zone string
	var o crontab.WriteOptions
	cmd := &cobra.Command{
		Use:   "crontab",
		Short: "Write jobs as a crontab",
		Long: "Writes the jobs that a crontab can say: cron triggers in the dialect crontab, and commands for a shell. What it leaves out of a job (timeouts,\n" +
			"retries, …) is named; jobs that it cannot say are named with the reason, also in a comment, and the exit status is then 1.",
		Example: "  ruqi export crontab > crontab.txt\n  ruqi export crontab --prefix web1/ --system --user root --tz Europe/Berlin",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Zone, o.Home = ruqi.HostZone().String(), a.homes()
			if zone != "" {
				at, err := zoneFlag(zone)
				if err != nil {
					return usage("--tz: %v", err)
				}
				o.Zone = at.String()
			}
			return a.exportCrontab(cmd.Context(), ruqi.JobQuery{Tags: tags}, prefix, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&tags, "tag", nil, "only jobs with this `tag`; may be given again")
	flags.StringVar(&prefix, "prefix", "", "only jobs whose ids begin with this `text`")
	flags.BoolVar(&o.System, "system", false, "write the user as the sixth word, as in /etc/crontab")
	flags.StringVar(&o.User, "user", "", "`name` of the user whose crontab it is; with --system, of jobs that name none")
	flags.StringVar(&zone, "tz", "", "`zone` of the host that will read it: its jobs need no CRON_TZ (default: this host's)")
	return cmd
}

// errNotSaid makes the exit status tell that jobs are missing; which ones has been said.
var errNotSaid = errors.New("not all jobs are in the table")

// exportCrontab writes the jobs of the query whose ids have the prefix.
func (a *app) exportCrontab(ctx context.Context, query ruqi.JobQuery, prefix string, o crontab.WriteOptions) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	var jobs []ruqi.Job
	err = eachJob(ctx, c, query, func(job ruqi.Job) {
		if strings.HasPrefix(job.ID, prefix) {
			jobs = append(jobs, job)
		}
	})
	if err != nil {
		return err
	}
	w := crontab.Write(jobs, o)
	if err := a.print("%s", w.Text); err != nil {
		return err
	}
	for _, l := range w.Left {
		a.say("%s: left out: %s", l.ID, l.Why)
	}
	for _, r := range w.Refused {
		a.say("%s: not in the table: %s", r.ID, r.Why)
	}
	if len(w.Refused) > 0 {
		return errNotSaid
	}
	return nil
}
