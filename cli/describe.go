package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) describeCommand() *cobra.Command {
	var lang string
	ask := &triggerFlags{}
	cmd := &cobra.Command{
		Use:   "describe [flags] -- EXPR",
		Short: "Say in words when a trigger fires",
		Long:  "Says in English or in Chinese when a trigger fires. " + asksService,
		Example: "  ruqi describe '30 2 * * mon-fri'\n  ruqi describe --lang zh --tz Asia/Shanghai '*/5 9-17 * * mon-fri'\n" +
			"  ruqi describe --dialect quartz '0 15 10 ? * 6L'\n  ruqi describe --job reports/daily",
		Args: ask.arguments(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.describe(cmd.Context(), ask, args, ruqi.Language(lang))
		},
	}
	ask.register(cmd)
	registerLanguage(cmd, &lang)
	return cmd
}

func registerLanguage(cmd *cobra.Command, lang *string) {
	cmd.Flags().StringVar(lang, "lang", string(ruqi.English), "`language`, en or zh")
}

func checkLanguage(in ruqi.Language, faults *ruqi.Faults) {
	if in != ruqi.English && in != ruqi.Chinese {
		faults.Add("/lang", string(in), "%q is unknown; %s", in, wire.Instead(in, ruqi.English, ruqi.Chinese))
	}
}

func (a *app) describe(ctx context.Context, ask *triggerFlags, args []string, in ruqi.Language) error {
	a.names = ask.names
	var faults ruqi.Faults
	ask.settle(&faults)
	checkLanguage(in, &faults)
	parsed, err := ask.read(ctx, a, args, &faults)
	if err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	// Words about elapsed time are counted from the moment a job is added, which is not now.
	if _, elapsed := parsed.(ruqi.Elapser); !elapsed || ask.decoded {
		bound, err := ask.bind(parsed, time.Now(), "")
		if err != nil {
			return err
		}
		parsed = bound
	}
	if a.output == "json" {
		return a.printJSON(wire.Describe(parsed))
	}
	return a.print("%s\n", trigger.Describe(parsed, in))
}
