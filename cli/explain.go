package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) explainCommand() *cobra.Command {
	var from string
	ask := &triggerFlags{}
	cmd := &cobra.Command{
		Use:   "explain [flags] -- EXPR AT",
		Short: "Say why a trigger does not fire at a time",
		Long: "Says whether a trigger fires at a time, and if not, which field, clock change or exclusion rules it out. A time without an\n" +
			"offset is read in the trigger's zone. It needs no service.",
		Example: "  ruqi explain '30 2 * * mon-fri' '2026-11-29 02:30'\n" +
			"  ruqi explain --tz Europe/Berlin '30 2 * * *' 2026-10-25T02:30:00+01:00",
		Args: oneExpression("a time"),
		RunE: func(_ *cobra.Command, args []string) error { return a.explainTime(ask, args[0], args[1], from) },
	}
	ask.register(cmd)
	cmd.Flags().StringVar(&from, "from", "", "count an interval from this `time` (default: now)")
	return cmd
}

func (a *app) explainTime(ask *triggerFlags, text, atText, from string) error {
	a.names = func(pointer string) string {
		if pointer == "/at" {
			return "AT"
		}
		return ask.names(pointer)
	}
	var faults ruqi.Faults
	ask.settle(&faults)
	now := time.Now()
	anchor := now
	var err error
	if ask.cmd.Flags().Changed("from") {
		anchor, err = readMoment(from, ask.location, now)
		faults.Merge("/from", err)
	}
	parsed := ask.read(text, &faults)
	if faults.Err() == nil {
		parsed, err = ask.bind(parsed, anchor, wire.PreviewSeed)
		faults.Merge("", err)
	}
	if _, err := fixMoment(atText, now); err != nil {
		faults.Merge("/at", err)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	at, err := readMoment(atText, wire.Zone(parsed), now)
	if err != nil {
		faults.Merge("", err)
		return faults.Err()
	}
	shape := wire.Explain(parsed, at)
	if a.output == "json" {
		return a.printJSON(shape)
	}
	var lines []string
	shown := func(at *time.Time) string {
		if at == nil {
			return "never"
		}
		return wire.FormatTime(*at, at.Location())
	}
	if shape.Fires {
		lines = append(lines, shown(&shape.At)+" fires")
	} else {
		lines = append(lines, shown(&shape.At)+" does not fire:")
		for _, r := range shape.Reasons {
			lines = append(lines, "  "+r.Part+": "+r.Message)
		}
	}
	lines = append(lines, "before: "+shown(shape.Before), "after:  "+shown(shape.After))
	return a.print("%s\n", strings.Join(lines, "\n"))
}
