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
	ask := nextTimes{triggerFlags: &triggerFlags{}}
	cmd := &cobra.Command{
		Use:   "next [flags] -- EXPR",
		Short: "Show when a trigger fires",
		Long: "Shows the next times of a trigger, one a line, in the trigger's zone. Where there is none, it says why on standard error, and that is no\n" +
			"failure. Of a job these are the nominal times: its policy may delay each (jitter), and a paused job has none. " + asksService,
		Example: "  ruqi next '30 2 * * mon-fri'\n  ruqi next --tz Europe/Berlin -n 3 -- '0 9 1 * *'\n" +
			"  ruqi next --trigger every 'monday at 13:15 until 2030-01-01'\n  ruqi next --dialect quartz '0 15 10 ? * 6L'\n" +
			"  ruqi next --previous -n 3 '0 9 * * *'\n" + `  ruqi next '{"kind":"interval","every":"90m"}'` + "\n  ruqi next --job reports/daily",
		Args: ask.arguments(),
		RunE: func(cmd *cobra.Command, args []string) error { return a.next(cmd.Context(), ask, args) },
	}
	ask.register(cmd)
	flags := cmd.Flags()
	ask.from = flags.String("from", "", "show times after this `time`: '2026-12-01 09:00', 2026-12-01T09:00:00Z, 'in 5 minutes' (default: now)")
	ask.until = flags.String("until", "", "show no times after this `time`; with --previous, none before it")
	ask.n = flags.IntP("count", "n", wire.DefaultPreview, "how `many`, 1 to 1000")
	ask.previous = flags.Bool("previous", false, "show the times before --from, the latest first")
	return cmd
}

type nextTimes struct {
	*triggerFlags
	from, until *string
	n           *int
	previous    *bool
}

// next checks everything that was asked, tells all faults at once, and prints the times.
func (a *app) next(ctx context.Context, ask nextTimes, args []string) error {
	a.names = ask.names
	var faults ruqi.Faults
	ask.settle(&faults)
	parsed, err := ask.read(ctx, a, args, &faults) // first: a job's zone is that of the times
	if err != nil {
		return err
	}
	given := ask.cmd.Flags().Changed
	from, until := time.Now(), time.Time{}
	if given("from") {
		from, err = readMoment(*ask.from, ask.location, from)
		faults.Merge("/from", err)
	}
	if given("until") {
		until, err = readMoment(*ask.until, ask.location, time.Now())
		faults.Merge("/until", err)
	}
	if *ask.previous && given("until") && faults.Err() == nil && until.After(from) {
		faults.Add("/until", *ask.until, "later than --from; with --previous it is the earliest time that is shown")
	}
	if *ask.n < 1 || *ask.n > wire.MaxPreview {
		faults.Add("/n", "", "%d is out of range (1-%d)", *ask.n, wire.MaxPreview)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if parsed, err = ask.bind(parsed, from, wire.PreviewSeed); err != nil {
		return err
	}
	question := wire.PreviewQuestion{From: from, N: *ask.n}
	switch {
	case *ask.previous:
		question.N, question.Previous = 0, *ask.n
	case given("until"):
		question.Until = &until
	}
	preview, err := wire.NewPreview(ctx, parsed, ask.location, question)
	if err != nil {
		return err
	}
	list := preview.Times
	if *ask.previous {
		list = preview.Previous
	}
	times := make([]string, 0, len(list))
	for _, at := range list {
		if *ask.previous && given("until") && at.Before(until) {
			break
		}
		times = append(times, wire.FormatTime(at, at.Location()))
	}
	for _, warning := range preview.Warnings {
		_, _ = fmt.Fprintln(a.Stderr, warning) // a hint only
	}
	if a.output == "json" {
		return a.printJSON(map[string][]string{"times": times})
	}
	if len(times) == 0 {
		if len(preview.Warnings) == 0 {
			var bound *time.Time
			if given("until") {
				bound = &until
			}
			a.hint("%s", wire.WhyNone(parsed, from, bound, *ask.previous))
		}
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
