package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/cli/kubernetes"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Take over jobs of other schedulers"}
	cmd.AddCommand(a.importKubernetesCommand())
	return group(cmd)
}

func (a *app) importKubernetesCommand() *cobra.Command {
	var zone string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "k8s FILE…",
		Short: "Take over CronJobs of Kubernetes",
		Long: "Makes a job of each CronJob in the files (- for standard input): its schedule and time zone, concurrencyPolicy, deadlines, suspend, retries, and the\n" +
			"command, arguments and environment of its one container, which run on the service's host. What has no twin here is named, and so is each\n" +
			"CronJob that cannot be taken; the others are added, and the exit status is then 1. A job of the same id is replaced, so that importing twice\n" +
			"changes nothing.",
		Example: "  ruqi import k8s cronjobs.yaml --dry-run\n  kubectl get cronjobs -A -o yaml | ruqi import k8s -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if zone != "" {
				if _, err := zoneFlag(zone); err != nil {
					return usage("--tz: %v", err)
				}
			}
			var all kubernetes.Result
			for _, name := range files {
				data, err := a.readInput(name)
				if err != nil {
					return err
				}
				if name == "-" {
					name = "standard input"
				}
				r, err := kubernetes.Read(name, data, kubernetes.Options{Zone: zone})
				if err != nil {
					return usage("%v", err)
				}
				all.Jobs, all.Skipped, all.Refused = append(all.Jobs, r.Jobs...), append(all.Skipped, r.Skipped...), append(all.Refused, r.Refused...)
			}
			refuseTwins(&all)
			return a.importJobs(cmd.Context(), all, dryRun)
		},
	}
	cmd.Flags().StringVar(&zone, "tz", "", "`zone` of CronJobs that name none, an IANA name (default: the service's)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "add nothing; write what would be added as a job file")
	return cmd
}

// refuseTwins leaves out CronJobs whose id another before them has: each would take the other's place.
func refuseTwins(all *kubernetes.Result) {
	seen := map[any]string{}
	all.Jobs = slices.DeleteFunc(all.Jobs, func(job kubernetes.Job) bool {
		id := job.Definition["id"]
		where, twice := seen[id]
		if twice {
			all.Refused = append(all.Refused, fmt.Sprintf("%s: CronJob %s: its name is taken by that at %s", job.Where, id, where))
		}
		seen[id] = job.Where
		return twice
	})
}

// readInput reads a file, or standard input for "-".
func (a *app) readInput(name string) ([]byte, error) {
	source := a.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, usage("%v", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, jobfile.MaxSize+1))
	switch {
	case err != nil:
		return nil, usage("%v", err)
	case len(data) > jobfile.MaxSize:
		return nil, usage("%s: larger than 16 MiB", name)
	}
	return data, nil
}

// errNotAll makes the exit status tell that not everything was taken; what it was has been said.
var errNotAll = errors.New("not all could be taken over")

// importJobs adds what was found, and says of the rest why not.
func (a *app) importJobs(ctx context.Context, found kubernetes.Result, dryRun bool) error {
	say := func(line string) { _, _ = fmt.Fprintln(a.Stderr, "ruqi: "+line) } // as good as it goes
	for _, line := range found.Skipped {
		say(line)
	}
	refused := len(found.Refused)
	for _, line := range found.Refused {
		say(line)
	}
	for _, job := range found.Jobs {
		for _, n := range job.Notes {
			say(fmt.Sprintf("%s: %s: %s", job.Where, job.Definition["id"], n))
		}
	}
	var jobs []ruqi.Job
	var done []string
	if dryRun {
		for i, job := range found.Jobs {
			text, err := yaml.Marshal(job.Definition)
			if err != nil {
				return err
			}
			if i > 0 {
				text = append([]byte("---\n"), text...)
			}
			if err := a.print("%s", text); err != nil {
				return err
			}
		}
	} else if len(found.Jobs) > 0 {
		c, err := a.connect()
		if err != nil {
			return err
		}
		defer c.Close()
		for _, job := range found.Jobs {
			text, err := encode(job.Definition)
			if err != nil {
				return err
			}
			added, how, err := c.AddDefinition(ctx, text, ruqi.Replace)
			var invalid *ruqi.InvalidError
			if errors.As(err, &invalid) {
				for _, f := range invalid.Faults {
					say(fmt.Sprintf("%s: CronJob %s: %s: %s", job.Where, job.Definition["id"], f.Pointer, f.Message))
				}
				refused++
				continue
			}
			if err != nil {
				return errors.Join(err, a.printChanged(jobs, done...))
			}
			jobs, done = append(jobs, added), append(done, string(how))
		}
		if err := a.printChanged(jobs, done...); err != nil {
			return err
		}
	}
	if refused > 0 {
		return errNotAll
	}
	return nil
}
