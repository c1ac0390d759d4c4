package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger"
)

// triggerFlags say how a command that speaks of one trigger reads it.
type triggerFlags struct {
	cmd                                  *cobra.Command
	kind, zone, dialect, gap, fold, seed string
	start, end                           string
	job                                  string         // whose trigger is meant
	files                                []string       // of calendars, as NAME=FILE
	location                             *time.Location // where a trigger without a zone lives
	decoded                              bool           // the trigger was given as JSON
}

// inJSON stands before the pointers of faults in a trigger's JSON, whose members have names that flags have too.
const inJSON = "/json"

// listOfTriggers says how a list is written.
const listOfTriggers = `a trigger is one JSON object; several are the parts of one of kind any, {"kind":"any","of":[…]}`

// jsonKind says that the text is the JSON of a trigger of any kind, as in a job.
const jsonKind = "json"

func (f *triggerFlags) register(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "trigger", "cron", "`kind` of trigger: cron, interval, date, every (words) or calendar; or the JSON of any kind, as in job add, in the place of an expression, which may be JSON as well, or is with json")
	flags.StringVar(&f.zone, "tz", "", "`zone` of the trigger, an IANA name (default: the host's)")
	flags.StringVar(&f.dialect, "dialect", "", "`dialect` of a cron expression: crontab (default), ruqi, fields or quartz")
	flags.StringVar(&f.gap, "gap", "", "`what` to do with times that a clock change leaves out: run_after (default), shift or skip")
	flags.StringVar(&f.fold, "fold", "", "`what` to do with times that a clock change repeats: auto (default), first, second or both")
	flags.StringVar(&f.start, "start", "", "no fire before that `time`; an interval fires first then, and counts from it")
	flags.StringVar(&f.end, "end", "", "no fire after that `time`")
	flags.StringVar(&f.seed, "seed", "", "`id` of the job, which decides what H stands for and what is random")
	flags.StringVar(&f.job, "job", "", "the trigger of the job with that `id`, which the service is asked for, in the place of an expression")
	flags.StringArrayVar(&f.files, "calendar", nil, "`NAME=FILE`: the days of a calendar that the trigger names, as calendar put takes them (default: the service's calendar)")
}

// names maps the pointers of faults to flags, or to members of the trigger's JSON.
func (f *triggerFlags) names(pointer string) string {
	if member, ok := strings.CutPrefix(pointer, inJSON); ok {
		return strings.Join(object.Names(member), ".")
	}
	if flag, ok := strings.CutPrefix(pointer, "/flags/"); ok {
		return "--" + flag
	}
	switch pointer {
	case "/at":
		return "AT"
	case "/zone":
		return "--tz"
	case "/kind":
		return "--trigger"
	case "/from", "/until", "/calendar", "/dialect", "/gap", "/fold", "/start", "/end", "/seed", "/lang":
		return "--" + pointer[1:]
	case "/n":
		return "-n"
	}
	if f.decoded {
		return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	}
	return "" // the message begins with the name of the field
}

// settle finds the zone. It comes before everything that reads a time.
func (f *triggerFlags) settle(faults *ruqi.Faults) {
	f.location = ruqi.HostZone()
	if !f.cmd.Flags().Changed("tz") {
		return
	}
	zone, err := trigger.LoadZone(f.zone)
	faults.Merge("/zone", err)
	if f.location = zone; err != nil {
		f.location = time.UTC // the zone is at fault, and is told
	}
}

// read reads the trigger that a command was given, or that of the job it names. What is wrong with it is added to the faults; an
// error is of the service, or of a file. When the zone was at fault before, it is not told again.
func (f *triggerFlags) read(ctx context.Context, a *app, args []string, faults *ruqi.Faults) (ruqi.Trigger, error) {
	source, err := f.calendars(ctx, a)
	if err != nil {
		return nil, err
	}
	if f.job != "" {
		return f.readJob(ctx, a, source, faults)
	}
	text := f.kind
	if !f.isWhole() {
		text = args[0]
	}
	var read ruqi.Trigger
	if f.decoded = f.isJSON(text); f.decoded {
		read, err = f.decode(text, source)
	} else {
		o := trigger.ParseOptions{Dialect: f.dialect, Gap: f.gap, Fold: f.fold, Start: f.start, End: f.end, Seed: f.seed}
		if faults.Err() == nil {
			o.Zone = f.location.String()
		}
		read, err = trigger.Parse(f.kind, text, o)
		if err = ofExpression(err); err != nil && f.kind == "cron" && areWords(text) {
			err = ruqi.Invalid("/expr", text, "expression: %q is words, which are read with --trigger every", text)
		}
	}
	// A trigger that cannot be read may name more than was seen; of one whose calendar is not there the name has a slip in it.
	if err == nil || source.err != nil || source.missing {
		source.checkUsed(faults)
	}
	if source.err != nil && faults.Err() == nil {
		return nil, source.err
	}
	if source.err == nil {
		faults.Merge("", err)
	}
	return read, nil
}

// areWords reports whether a text is a time in words.
func areWords(text string) bool {
	_, err := trigger.Parse("every", text, trigger.ParseOptions{Now: time.Now()})
	return err == nil && !strings.Contains(text, "=")
}

// ofExpression moves the faults of a date that is the expression away from /at, which stands for the argument AT.
func ofExpression(err error) error {
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	moved := &ruqi.InvalidError{Faults: slices.Clone(invalid.Faults)}
	for i := range moved.Faults {
		if moved.Faults[i].Pointer == "/at" {
			moved.Faults[i].Pointer = "/expr"
		}
	}
	return moved
}

// isJSON reports whether a text is JSON. No expression begins as an object or a list does.
func (f *triggerFlags) isJSON(text string) bool {
	return f.kind == jsonKind || isObjectOrList(text)
}

func isObjectOrList(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// isWhole reports whether --trigger is the JSON of the trigger, as for job add, and no kind.
func (f *triggerFlags) isWhole() bool { return isObjectOrList(f.kind) }

// decode reads the JSON of a trigger. Everything but the zone it lives in without one of its own is said in it.
func (f *triggerFlags) decode(text string, source trigger.CalendarSource) (ruqi.Trigger, error) {
	var faults ruqi.Faults
	for _, flag := range []string{"dialect", "gap", "fold", "start", "end"} {
		if f.cmd.Flags().Changed(flag) {
			faults.Add("/"+flag, "", "it is for triggers in words; JSON has it as a member")
		}
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		faults.Add(inJSON, text, "expression: %s", listOfTriggers)
		return nil, faults.Err()
	}
	registry := standard.Registry(standard.Options{Calendars: source})
	read, err := registry.DecodeTrigger([]byte(text))
	if err == nil && f.cmd.Flags().Changed("trigger") && f.kind != jsonKind && !f.isWhole() && f.kind != read.Kind() {
		faults.Add("/kind", f.kind, "the JSON is of the kind %s", read.Kind())
	}
	faults.Merge(inJSON, err)
	return read, faults.Err()
}

// bind fills in what the trigger lacks; seed is for one that was given none.
func (f *triggerFlags) bind(t ruqi.Trigger, anchor time.Time, seed string) (ruqi.Trigger, error) {
	if f.seed != "" {
		seed = f.seed
	}
	if binder, ok := t.(ruqi.Binder); ok {
		return binder.Bind(f.location, anchor.Truncate(time.Microsecond), seed)
	}
	return t, nil
}

// arguments are a trigger, unless --job names one, and what else names say.
func (f *triggerFlags) arguments(more ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		wanted := append([]string{"an expression"}, more...)
		instead, whose := "--job", "the job's"
		if f.isWhole() {
			instead, whose = "JSON in --trigger", "there"
		}
		if cmd.Flags().Changed("job") || f.isWhole() {
			wanted = more
		}
		switch names := strings.Join(wanted, " and "); {
		case len(args) > len(wanted) && len(wanted) == len(more):
			if names == "" {
				names = "nothing"
			}
			return usage("expression: %s with %s takes %s, and has %d arguments; the trigger is %s", cmd.CommandPath(), instead, names, len(args), whose)
		case len(args) > len(wanted):
			return usage("expression: %s takes %s, and has %d arguments; put an expression in quotes", cmd.CommandPath(), names, len(args))
		case len(args) < len(wanted):
			return usage("expression: %s wants %s", cmd.CommandPath(), names)
		}
		return nil
	}
}
