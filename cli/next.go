package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) nextCommand() *cobra.Command {
	var kind, zone, from, dialect, gap, fold string
	var n int
	cmd := &cobra.Command{
		Use:   "next [flags] -- EXPR",
		Short: "Show when a trigger fires",
		Long:  "Shows the next times of a trigger, one a line, in the trigger's zone. It needs no service.",
		Example: "  ruqi next '30 2 * * mon-fri'\n  ruqi next --tz Europe/Berlin -n 3 -- '0 9 1 * *'\n" +
			"  ruqi next --trigger interval '90 minutes'\n  ruqi next --dialect ruqi '*/10 * * * * *'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("expression: %s takes one, and has %d arguments; put it in quotes", cmd.CommandPath(), len(args))
			}
			if len(args) == 0 {
				return usage("expression: %s wants one", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := nextTimes{kind: kind, text: args[0], n: n, options: trigger.ParseOptions{Dialect: dialect, Gap: gap, Fold: fold}}
			given := func(name string) bool { return cmd.Flags().Changed(name) }
			return a.next(cmd.Context(), ask, zone, given("tz"), from, given("from"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "trigger", "cron", "`kind` of trigger: cron, interval or date")
	flags.StringVar(&zone, "tz", "", "`zone` of the trigger, an IANA name (default: the host's)")
	flags.StringVar(&from, "from", "", "show times after this `time`: '2026-12-01 09:00', 2026-12-01T09:00:00Z, 'in 5 minutes' (default: now)")
	flags.IntVarP(&n, "count", "n", wire.DefaultPreview, "how `many`, 1 to 1000")
	flags.StringVar(&dialect, "dialect", "", "`dialect` of a cron expression: crontab (default) or ruqi")
	flags.StringVar(&gap, "gap", "", "`what` to do with times that a clock change leaves out: run_after (default), shift or skip")
	flags.StringVar(&fold, "fold", "", "`what` to do with times that a clock change repeats: auto (default), first, second or both")
	return cmd
}

type nextTimes struct {
	kind, text string
	n          int
	options    trigger.ParseOptions
	zone       *time.Location
	from       time.Time
}

// next checks everything that was asked, tells all faults at once, and prints the times.
func (a *app) next(ctx context.Context, ask nextTimes, zone string, zoneGiven bool, from string, fromGiven bool) error {
	a.names = func(pointer string) string {
		switch pointer {
		case "/zone":
			return "--tz"
		case "/kind":
			return "--trigger"
		case "/from", "/dialect", "/gap", "/fold":
			return "--" + pointer[1:]
		case "/n":
			return "-n"
		}
		return "" // the message begins with the name of the field
	}
	var faults ruqi.Faults
	var err error
	switch {
	case zoneGiven:
		ask.options.Zone = zone
		ask.zone, err = trigger.LoadZone(zone)
		faults.Merge("/zone", err)
	default:
		ask.zone = ruqi.HostZone()
	}
	ask.from = time.Now()
	if fromGiven {
		zone := ask.zone
		if zone == nil {
			zone = time.UTC // the zone is at fault, and is told
		}
		ask.from, err = readMoment(from, zone, ask.from)
		faults.Merge("/from", err)
	}
	if ask.n < 1 || ask.n > wire.MaxPreview {
		faults.Add("/n", "", "%d is out of range (1-%d)", ask.n, wire.MaxPreview)
	}
	if faults.Err() != nil {
		ask.options.Zone = "" // it has been spoken of
	}
	parsed, err := trigger.Parse(ask.kind, ask.text, ask.options)
	faults.Merge("", err)
	if err := faults.Err(); err != nil {
		return err
	}
	preview, err := wire.NewPreview(ctx, parsed, ask.zone, ask.from, ask.n)
	if err != nil {
		return err
	}
	times := make([]string, 0, len(preview.Times))
	for _, at := range preview.Times {
		times = append(times, wire.FormatTime(at, at.Location()))
	}
	if a.output == "json" {
		return a.printJSON(map[string][]string{"times": times})
	}
	for _, warning := range preview.Warnings {
		_, _ = fmt.Fprintln(a.Stderr, warning) // a hint only
	}
	if len(times) == 0 {
		return nil
	}
	return a.print("%s\n", strings.Join(times, "\n"))
}

// zoneFlag reads the zone of a setting, whose name is the caller's to put before the error.
func zoneFlag(name string) (*time.Location, error) {
	zone, err := trigger.LoadZone(name)
	if err != nil {
		var invalid *ruqi.InvalidError
		if errors.As(err, &invalid) {
			return nil, errors.New(strings.TrimPrefix(invalid.Faults[0].Message, "tz: "))
		}
		return nil, err
	}
	return zone, nil
}
