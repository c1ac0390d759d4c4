package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
)

// setLabel is the label that says to which set of job files a job belongs.
const setLabel = "ruqi.dev/set"

// longestSet is how long the value of a label may be, in characters.
const longestSet = 255

// maxAllFiles bounds the files of one command together: a hundred thousand jobs and more.
const maxAllFiles = 256 << 20 // bytes

// filesFlags are the flags of commands that bring job files to a service.
type filesFlags struct {
	paths    []string
	set      string
	prune    bool
	takeOver bool
}

func (f *filesFlags) register(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.paths, "file", "f", nil, "job `file`, or folder of *.yaml and *.yml, those below it included; - for standard input; may be given again, and more may follow")
	set.StringVar(&f.set, "set", "", "`name` of the set that the jobs belong to, kept in their label "+setLabel+" (default: none)")
	set.BoolVar(&f.prune, "prune", false, "remove the jobs of the set that are in none of the files")
	set.BoolVar(&f.takeOver, "take-over", false, "take jobs that belong to another set")
}

// check adds the arguments, which are paths too: a pattern of the shell leaves the first to the flag and the rest to them.
func (f *filesFlags) check(cmd *cobra.Command, args []string) error {
	f.paths = append(f.paths, args...)
	named := cmd.Flags().Changed("set")
	switch {
	case len(f.paths) == 0:
		return usage("%s wants files: -f PATH", cmd.CommandPath())
	case named && f.set == "":
		return usage("--set: empty; leave it out for jobs that belong to no set")
	case escape(f.set) != f.set || utf8.RuneCountInString(f.set) > longestSet:
		return usage("--set: %q: a name has at most %d characters, all of which can be printed", f.set, longestSet)
	case f.prune && !named:
		return usage("--prune removes the jobs of a set, and so wants --set NAME: without it nobody knows which jobs are these files'")
	case f.takeOver && !named:
		return usage("--take-over gives jobs to a set, and so wants --set NAME")
	}
	return nil
}

const filesHelp = "PATH is a job file, as for \"ruqi job add --file\", a folder, or - for standard input. Of a folder all *.yaml and *.yml are read, those in the\n" +
	"folders below it included, by name; what begins with a dot is passed over. Each job needs an id.\n\n" +
	"--set NAME says whose the jobs are: they get the label " + setLabel + ". Jobs of another set are refused (--take-over takes them), jobs of none are taken,\n" +
	"and with --prune those of the set that are in none of the files are removed: no others, ever. Two repositories use two names.\n\n" +
	"A job that was paused by hand stays paused; a file that says \"state: paused\" pauses it, and \"state: active\" resumes it.\n"

func (a *app) applyCommand() *cobra.Command {
	f := &filesFlags{}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "apply -f PATH…",
		Short: "Bring the service's jobs to what job files say",
		Long: "Adds and changes jobs so that they are as the files say. What is so already is left alone. All files are checked first, by the service too: if\n" +
			"one job is wrong, nothing is done.\n\n" + filesHelp,
		Example: "  ruqi apply -f jobs/ --set reports --prune --dry-run\n  ruqi apply -f jobs/ --set reports --prune",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return a.withPlan(cmd.Context(), f, func(p *plan) error {
				if dryRun {
					for _, s := range p.steps {
						s.done = true
					}
					_, _ = fmt.Fprintln(a.Stderr, "nothing was changed: --dry-run") // a hint only
					return a.printApplied(p, true)
				}
				failed := p.write(cmd.Context())
				return errors.Join(a.printApplied(p, false), failed)
			})
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say the same, and change nothing")
	return cmd
}

func (a *app) diffCommand() *cobra.Command {
	f := &filesFlags{}
	cmd := &cobra.Command{
		Use:   "diff -f PATH…",
		Short: "Show what apply would change",
		Long: "Shows each job that apply with the same flags would add, change or remove, member by member in the canonical form, old -> new. The exit status\n" +
			"is 0 when there is nothing to change, 1 when there is, and 2 or more when that could not be told.\n\n" + filesHelp,
		Example: "  ruqi diff -f jobs/ --set reports --prune",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			err := a.withPlan(cmd.Context(), f, a.printDiff)
			var silent *silentError
			if err != nil && exitStatus(err) == exitFailed && !errors.As(err, &silent) {
				return &statusError{err, exitUsage} // it must not pass for a difference
			}
			return err
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// withPlan reads the files, asks the service what they would change, and goes on with that when nothing is wrong.
func (a *app) withPlan(ctx context.Context, f *filesFlags, do func(*plan) error) error {
	documents, faults := a.readFiles(f)
	p := &plan{set: f.set, takeOver: f.takeOver}
	if err := p.take(documents); err != nil {
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
	wrong, err := p.make(ctx, f.prune && len(faults) == 0)
	if err != nil && len(faults) == 0 {
		return errors.Join(err, errors.New("nothing was changed"))
	}
	if faults = append(faults, wrong...); len(faults) > 0 {
		return jobfile.Join(faults)
	}
	for _, s := range p.steps {
		if s.doc == nil {
			continue
		}
		if s.adopted {
			_, _ = fmt.Fprintf(a.Stderr, "%s: belonged to %s, and is taken into the set %s\n", escape(s.id), s.owner(), escape(f.set)) // hints only
		}
		if s.action != unchanged && s.after.Parked != "" {
			_, _ = fmt.Fprintf(a.Stderr, "%s: %s, but parked: %s\n", escape(s.id), s.after.State, escape(s.after.Parked))
		}
	}
	return do(p)
}

// A checked document is one with what was found wrong in it without asking the service.
type checked struct {
	*jobfile.Document
	faults []error
}

// readFiles reads all files, and returns the documents, and all that is wrong with them and the files.
func (a *app) readFiles(f *filesFlags) (all []checked, faults []error) {
	names, err := jobfile.Find(f.paths)
	if err != nil {
		faults = append(faults, err)
	}
	registry := standard.Registry(standard.Options{Calendars: elsewhere{}})
	var documents []*jobfile.Document
	size := int64(0)
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
		if size > maxAllFiles {
			return nil, append(faults, usage("the files are larger than 256 MiB together"))
		}
		read, err := a.readJobFile(name)
		if err != nil {
			faults = append(faults, err)
		}
		documents = append(documents, read...)
	}
	if len(documents) == 0 && len(faults) == 0 {
		faults = append(faults, usage("there is no job in %s", strings.Join(f.paths, ", ")))
	}
	twice := jobfile.CheckIDs(documents)
	for _, d := range documents {
		wrong := d.Check(registry)
		if given := d.Label(setLabel); given != "" && given != f.set {
			wrong = append(wrong, d.Fault("/labels/ruqi.dev~1set", fmt.Sprintf("%q, but what says to which set a job belongs is --set", given)))
		}
		all = append(all, checked{d, wrong})
		faults = append(faults, wrong...)
	}
	return all, append(faults, twice...)
}

// An action is what is to become of a job.
type action string

const (
	create    action = "created"
	change    action = "changed"
	unchanged action = "unchanged"
	remove    action = "removed"
)

// A step is what is done to one job.
type step struct {
	id   string
	doc  *jobfile.Document // nil: it is to be removed
	text json.RawMessage   // the definition
	// keep picks from what the service finds wrong what does not come of parts that text is without; nil: it is whole.
	keep   func([]error) []error
	action action
	before *ruqi.Job // nil: there is none
	after  ruqi.Job
	// differences are those that can be seen; secret ones are not shown.
	differences []jobfile.Difference
	secret      bool
	adopted     bool
	resume      bool
	done        bool
	err         error
}

// owner says in words to whom the job belonged.
func (s *step) owner() string {
	if set := s.before.Labels[setLabel]; set != "" {
		return "the set " + escape(set)
	}
	return "nobody"
}

// A plan is what is to be done to all jobs, those of the files in their order, then those that are to be removed.
type plan struct {
	client   *client.Client
	set      string
	takeOver bool
	steps    []*step
}
