package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) explainCommand() *cobra.Command {
	var from, lang string
	ask := &triggerFlags{}
	cmd := &cobra.Command{
		Use:   "explain [flags] -- EXPR AT",
		Short: "Say why a trigger does not fire at a time",
		Long: "Says whether a trigger fires at a time, and if not, which field, clock change or exclusion rules it out. A time without an\n" +
			"offset is read in the trigger's zone: of one that a clock change repeats, both instants are explained; of one that a clock\n" +
			"change leaves out, what the trigger does instead. " + asksService,
		Example: "  ruqi explain '30 2 * * mon-fri' '2026-11-29 02:30'\n" +
			"  ruqi explain --tz Europe/Berlin '30 2 * * *' '2026-10-25 02:30'\n" +
			"  ruqi explain --lang zh --job reports/daily '2026-11-29 02:30'",
		Args: ask.arguments("a time"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explainTime(cmd.Context(), ask, args, from, ruqi.Language(lang))
		},
	}
	ask.register(cmd)
	cmd.Flags().StringVar(&from, "from", "", "count an interval from this `time` (default: now)")
	registerLanguage(cmd, &lang)
	return cmd
}

func (a *app) explainTime(ctx context.Context, ask *triggerFlags, args []string, from string, in ruqi.Language) error {
	a.names = ask.names
	var faults ruqi.Faults
	ask.settle(&faults)
	checkLanguage(in, &faults)
	atText := args[len(args)-1]
	now := time.Now()
	parsed, err := ask.read(ctx, a, args, &faults)
	if err != nil {
		return err
	}
	anchor := now
	if ask.cmd.Flags().Changed("from") {
		anchor, err = readMoment(from, ask.location, now)
		faults.Merge("/from", err)
	}
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
	wall, isWall := readWall(atText, wire.Zone(parsed), now)
	switch {
	case !isWall:
		at, err := readMoment(atText, wire.Zone(parsed), now)
		if err != nil {
			faults.Merge("/at", err)
			return faults.Err()
		}
		return a.printExplanation(in, "", wire.Explain(parsed, at))
	case wall.missing():
		return a.explainMissing(parsed, wall, in)
	case len(wall.instants) > 1:
		shapes := make([]wire.Explanation, len(wall.instants))
		for i, at := range wall.instants {
			shapes[i] = wire.Explain(parsed, at)
		}
		note := wall.shown.Format(time.DateTime) + " comes twice in " + wall.zone.String() + ", where the clock is set back:"
		if in == ruqi.Chinese {
			note = wall.shown.Format(time.DateTime) + " 在 " + wall.zone.String() + " 出现两次，因为时钟被拨回："
		}
		return a.printExplanation(in, note, shapes...)
	}
	return a.printExplanation(in, "", wire.Explain(parsed, wall.instants[0]))
}

// A twice is the explanation of the first of two instants, with that of the second.
type twice struct {
	wire.Explanation
	Second *wire.Explanation `json:"second_pass,omitempty"`
}

func (a *app) printExplanation(in ruqi.Language, note string, shapes ...wire.Explanation) error {
	if a.output == "json" {
		for _, shape := range shapes {
			a.warnBefore(shape)
		}
		out := twice{Explanation: shapes[0]}
		if len(shapes) > 1 {
			out.Second = &shapes[1]
		}
		return a.printJSON(out)
	}
	var lines []string
	if note != "" {
		lines = append(lines, note)
	}
	for _, shape := range shapes {
		at := wire.FormatTime(shape.At, shape.At.Location())
		lines = append(lines, explained(in, at, shape)...)
	}
	return a.print("%s\n", strings.Join(lines, "\n"))
}

// A missing is the explanation of a wall time that does not exist.
type missing struct {
	At      string        `json:"at"` // without an offset, for it has none
	Fires   bool          `json:"fires"`
	Reasons []wire.Reason `json:"reasons"`
	Before  *time.Time    `json:"before"`
	After   *time.Time    `json:"after"`

	SearchedTo *time.Time `json:"searched_to,omitempty"`
}

// explainMissing tells of a wall time that a clock change leaves out what the trigger does about it, and the fire times on both
// sides of the change; one at its very instant is after it.
func (a *app) explainMissing(t ruqi.Trigger, wall wallTime, in ruqi.Language) error {
	shape := wire.Explain(t, wall.change.at)
	out := missing{At: wall.shown.Format("2006-01-02T15:04:05"), Before: shape.Before, After: shape.After, SearchedTo: shape.SearchedTo}
	if shape.Fires {
		shape.After, shape.SearchedTo = &shape.At, nil
		out.After, out.SearchedTo = shape.After, nil
	}
	out.Reasons = []wire.Reason{{Part: "gap", Message: wall.says(ruqi.English) + "; " + wall.ruling(t, ruqi.English), Chinese: wall.says(ruqi.Chinese) + "；" + wall.ruling(t, ruqi.Chinese)}}
	if a.output == "json" {
		a.warnBefore(shape)
		return a.printJSON(out)
	}
	lines := []string{wall.says(in), "  gap: " + wall.ruling(t, in)}
	return a.print("%s\n", strings.Join(append(lines, around(in, shape)...), "\n"))
}

// explained is the explanation of one instant in lines.
func explained(in ruqi.Language, at string, shape wire.Explanation) (lines []string) {
	does, not := " fires", " does not fire:"
	if in == ruqi.Chinese {
		does, not = " 触发", " 不触发："
	}
	if shape.Fires {
		lines = append(lines, at+does)
	} else {
		lines = append(lines, at+not)
	}
	for _, r := range shape.Reasons {
		if in == ruqi.Chinese {
			r.Message = r.Chinese
		}
		lines = append(lines, "  "+r.Part+": "+r.Message)
	}
	return append(lines, around(in, shape)...)
}

// warnBefore says beside JSON, in which it is null, that the fire time before was not found.
func (a *app) warnBefore(shape wire.Explanation) {
	if shape.BeforeGivenUp {
		_, _ = fmt.Fprintln(a.Stderr, wire.NoneFoundBefore(shape.At)) // a hint only
	}
}

// around tells the fire times on either side, or that the search for one was given up.
func around(in ruqi.Language, shape wire.Explanation) []string {
	names := [5]string{"before: ", "after:  ", "never", "none until %s, where the search was given up", "none was found, the search was given up"}
	if in == ruqi.Chinese {
		names = [5]string{"之前：", "之后：", "无", "至 %s 尚无，搜索到此为止", "未找到，搜索已中止"}
	}
	shown := func(at *time.Time) string {
		if at == nil {
			return names[2]
		}
		return wire.FormatTime(*at, at.Location())
	}
	before, after := shown(shape.Before), shown(shape.After)
	if shape.BeforeGivenUp {
		before = names[4]
	}
	if shape.SearchedTo != nil {
		after = fmt.Sprintf(names[3], shown(shape.SearchedTo))
	}
	return []string{names[0] + before, names[1] + after}
}
