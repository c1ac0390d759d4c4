package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Take over jobs of other schedulers"}
	cmd.AddCommand(a.importCrontabCommand(), a.importKubernetesCommand())
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
			"CronJob that cannot be taken; the others are added, and the exit status is then 1, as it is where none of the documents is a CronJob. A job of\n" +
			"the same id is replaced, so that importing twice changes nothing.",
		Example: "  ruqi import k8s cronjobs.yaml --dry-run\n  kubectl get cronjobs -A -o yaml | ruqi import k8s -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if zone != "" {
				if _, err := zoneFlag(zone); err != nil {
					return usage("--tz: %v", err)
				}
			}
			var all kubernetes.Result
			shown := make([]string, len(files))
			for i, name := range files {
				shown[i] = shownInput(name)
				data, err := a.readInput(name)
				if err != nil {
					return err
				}
				r, err := kubernetes.Read(shown[i], data, kubernetes.Options{Zone: zone})
				if err != nil {
					return usage("%v", err)
				}
				all.Jobs, all.Skipped, all.Refused = append(all.Jobs, r.Jobs...), append(all.Skipped, r.Skipped...), append(all.Refused, r.Refused...)
			}
			refuseTwins(&all)
			return a.importJobs(cmd.Context(), shown, all, dryRun)
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
		return nil, usage("%s: larger than 16 MiB", shownInput(name))
	}
	return data, nil
}

// shownInput is the name by which people are told of what readInput read.
func shownInput(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// errNotAll and errNothing make the exit status tell that not everything was taken; what it was has been said.
var (
	errNotAll  = errors.New("not all could be taken over")
	errNothing = errors.New("nothing could be taken over")
)

// importJobs adds what was found, and says of the rest why not. Files are those that it was found in, as people are told of them.
func (a *app) importJobs(ctx context.Context, files []string, found kubernetes.Result, dryRun bool) error {
	refused := len(found.Refused)
	told := slices.Concat(found.Skipped, found.Refused)
	for _, job := range found.Jobs {
		for _, n := range job.Notes {
			told = append(told, fmt.Sprintf("%s: %s: %s", job.Where, job.Definition["id"], n))
		}
	}
	definitions := make([]json.RawMessage, len(found.Jobs))
	for i, job := range found.Jobs {
		var err error
		if definitions[i], err = encode(job.Definition); err != nil {
			return err
		}
	}
	var outcomes []outcome
	var failed error
	if dryRun {
		outcomes = tryDefinitions(definitions)
	} else if len(definitions) > 0 {
		var c *client.Client
		if c, failed = a.connect(); failed == nil {
			defer c.Close()
			outcomes, failed = addInBatches(ctx, c, definitions, func(int) ruqi.OnConflict { return ruqi.Replace })
		}
	}
	var jobs []ruqi.Job
	var done []string
	var good []map[string]any
	for i, o := range outcomes {
		var invalid *ruqi.InvalidError
		switch {
		case errors.As(o.fault, &invalid):
			for _, f := range invalid.Faults {
				told = append(told, found.Jobs[i].Fault(f))
			}
			refused++
		case dryRun:
			good = append(good, found.Jobs[i].Definition)
		case o.how != "":
			jobs, done = append(jobs, o.job), append(done, o.how)
		}
	}
	for _, line := range inOrder(told, files) {
		a.say("%s", line)
	}
	for i, definition := range good {
		if err := a.printDocument(definition, i == 0); err != nil {
			return err
		}
	}
	if !dryRun && len(definitions) > 0 {
		var unprinted error
		if outcomes != nil {
			unprinted = a.printChanged(jobs, done...)
		}
		err := errors.Join(failed, unprinted)
		if err != nil && outcomes != nil {
			a.say("%s", summary(outcomes, failed))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case refused > 0:
		return errNotAll
	case len(found.Jobs) == 0 && len(found.Skipped) > 0: // the wrong file: manifests beside CronJobs are left out without a fault
		return errNothing
	}
	return nil
}

// tryDefinitions reads definitions as the service would: what is wrong with each is its outcome.
func tryDefinitions(definitions []json.RawMessage) []outcome {
	registry := standard.Registry(standard.Options{})
	outcomes := make([]outcome, len(definitions))
	for i, text := range definitions {
		_, outcomes[i].fault = wire.DecodeNew(registry, text)
	}
	return outcomes
}

// inOrder sorts lines FILE:LINE: … by their places.
func inOrder(lines, files []string) []string {
	place := func(line string) [2]int {
		for i, file := range files {
			if rest, is := strings.CutPrefix(line, file+":"); is {
				digits, _, _ := strings.Cut(rest, ":")
				if n, err := strconv.Atoi(digits); err == nil {
					return [2]int{i, n}
				}
			}
		}
		return [2]int{len(files)}
	}
	return slices.SortedStableFunc(slices.Values(lines), func(one, other string) int {
		a, b := place(one), place(other)
		return slices.Compare(a[:], b[:])
	})
}

// say tells of something on standard error. What it says may come from files of others.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintln(a.Stderr, "ruqi: "+escape(fmt.Sprintf(format, args...))) // as good as it goes
}

// printDocument writes a definition as a document of a job file. Where a text in it would act on a terminal, and YAML would show it as it
// is, the document is JSON with escapes, which YAML reads as well.
func (a *app) printDocument(definition map[string]any, first bool) error {
	text, err := yaml.Marshal(definition)
	if err != nil {
		return err
	}
	if hidden := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }; bytes.ContainsFunc(text, hidden) {
		if text, err = json.MarshalIndent(definition, "", "  "); err != nil {
			return err
		}
		var b bytes.Buffer
		for _, r := range string(text) {
			if !hidden(r) {
				b.WriteRune(r)
				continue
			}
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, "\\u%04x", unit)
			}
		}
		text = append(plainJSON(b.Bytes()), '\n')
	}
	if !first {
		text = append([]byte("---\n"), text...)
	}
	return a.print("%s", text)
}
