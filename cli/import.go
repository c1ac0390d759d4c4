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

	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/standard"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Take over jobs of other schedulers"}
	cmd.AddCommand(a.importCrontabCommand(), a.importKubernetesCommand())
	return group(cmd)
}

func (a *app) importKubernetesCommand() *cobra.Command {
	var zone, prefix string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "k8s FILE…",
		Short: "Take over CronJobs of Kubernetes",
		Long: "Makes a job of each CronJob in the files (- for standard input): its schedule and time zone, concurrencyPolicy, deadlines, suspend, retries, and the\n" +
			"command, arguments and environment of its one container, which run on the service's host. What has no twin here is named, and so is each\n" +
			"CronJob that cannot be taken; the others are added, and the exit status is then 1, as it is where none of the documents is a CronJob. A job that\n" +
			"came from the same CronJob is replaced, so that importing twice changes nothing; a job that came from elsewhere never is.",
		Example: "  ruqi import k8s cronjobs.yaml --dry-run\n  kubectl get cronjobs -A -o yaml | ruqi import k8s -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if zone != "" {
				if _, err := zoneFlag(zone); err != nil {
					return usage("--tz: %v", err)
				}
			}
			var all kubernetes.Result
			wrong := wrongWith(standard.Registry(standard.Options{}))
			shown := make([]string, len(files))
			for i, name := range files {
				shown[i] = shownInput(name)
				data, err := a.readInput(name)
				if err != nil {
					return err
				}
				r, err := kubernetes.Read(shown[i], data, kubernetes.Options{Zone: zone, Prefix: prefix, Wrong: wrong})
				if err != nil {
					return usage("%v", err)
				}
				for _, job := range r.Jobs {
					all.Jobs = append(all.Jobs, labelled(job))
				}
				all.Skipped, all.Refused = append(all.Skipped, r.Skipped...), append(all.Refused, r.Refused...)
				all.NotTaken += r.NotTaken
			}
			refuseTwins(&all)
			return a.importJobs(cmd.Context(), shown, all, dryRun)
		},
	}
	cmd.Flags().StringVar(&zone, "tz", "", "`zone` of CronJobs that name none, an IANA name (default: the service's)")
	cmd.Flags().StringVar(&prefix, "prefix", "", "`text` in front of the jobs' ids, such as cluster1/")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "add nothing; write what would be added as a job file, and say what the service would make of it")
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
			all.NotTaken++
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
	m := &cronJobs{app: a, jobs: found.Jobs, refused: found.NotTaken, told: slices.Concat(found.Skipped, found.Refused)}
	for _, job := range found.Jobs {
		for _, n := range job.Notes {
			m.told = append(m.told, fmt.Sprintf("%s: %s: %s", job.Where, job.Definition["id"], n))
		}
	}
	failed := m.add(ctx, dryRun)
	unasked := dryRun && notAsked(failed)
	if unasked {
		m.outcomes = m.tried()
	}
	in, done := m.judge()
	for _, line := range inOrder(m.told, files) {
		a.say("%s", line)
	}
	switch {
	case dryRun:
		if !unasked && failed != nil {
			return failed
		}
		for i, definition := range in {
			if err := a.printDocument(definition, i == 0); err != nil {
				return err
			}
		}
		if unasked {
			a.say("%s would be added; %s", count(len(in), "job"), notTaken(m.refused, "CronJob"))
			a.sayNotAsked(failed)
		} else if len(found.Jobs) > 0 {
			a.say("%s: %s; %s", count(len(in), "job"), a.sayRehearsed(m.outcomes), notTaken(m.refused, "CronJob"))
		}
	case len(found.Jobs) > 0:
		var unprinted error
		if m.outcomes != nil {
			unprinted = a.printChanged(done, m.hows()...)
		}
		err := errors.Join(failed, unprinted)
		if err != nil && m.outcomes != nil {
			a.say("%s", summary(m.outcomes, failed))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case m.refused > 0:
		return errNotAll
	case len(found.Jobs) == 0 && len(found.Skipped) > 0: // the wrong file: manifests beside CronJobs are left out without a fault
		return errNothing
	}
	return nil
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
