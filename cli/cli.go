package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // wrong usage or bad input
	exitNotFound    = 3
	exitDenied      = 4
	exitUnreachable = 5
)

const defaultServer = "http://127.0.0.1:8585"

// A System is what a program is given by the system it runs on.
type System struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv looks up a variable of the environment.
	Getenv func(name string) string
	// Version is the program's release.
	Version string
}

// Run does what args ask for and returns the exit status. When ctx ends, a service shuts down as on
// SIGTERM and other commands give up.
func Run(ctx context.Context, args []string, system System) int {
	a := &app{System: system}
	if a.Version == "" {
		a.Version = "dev"
	}
	root := a.root()
	root.SetArgs(args)
	err := misgiven(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return exitDone
	}
	said := map[string]bool{}
	for _, line := range a.explain(err) {
		// One fault may be told of two fields that were given by one flag. Usage names the command with the
		// program, which stands in front already.
		if line = "ruqi: " + escape(strings.TrimPrefix(line, "ruqi ")); !said[line] {
			_, _ = fmt.Fprintln(a.Stderr, line) // where else could it be told
		}
		said[line] = true
	}
	return exitStatus(err)
}

// app is what the commands share.
type app struct {
	System
	server, token, dataDir, output string
	// tokenFrom says where the token that was sent is from, in words; empty: none was sent.
	tokenFrom string
	// names maps the pointers of faults to what the user typed: a flag, or a place in a file.
	names func(pointer string) string
}

// usageError is a command used wrongly.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// silentError ends with a status when all has been said.
type silentError struct{ status int }

func (e *silentError) Error() string { return "" }

// statusError is a failure that ends with another status than its kind has elsewhere.
type statusError struct {
	cause  error
	status int
}

func (e *statusError) Error() string { return e.cause.Error() }
func (e *statusError) Unwrap() error { return e.cause }

func exitStatus(err error) int {
	var silent *silentError
	var wrong *usageError
	var fault *jobfile.Fault
	var given *statusError
	switch {
	case errors.As(err, &silent):
		return silent.status
	case errors.As(err, &given):
		return given.status
	case errors.As(err, &wrong), errors.As(err, &fault), errors.Is(err, ruqi.ErrInvalid), errors.Is(err, ruqi.ErrClosure):
		return exitUsage
	case errors.Is(err, ruqi.ErrNotFound):
		return exitNotFound
	case errors.Is(err, client.ErrDenied):
		return exitDenied
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	}
	return exitFailed
}

// explain says what went wrong, a line for each fault, and what to do next where there is such a thing.
func (a *app) explain(err error) []string {
	var silent *silentError
	var invalid *ruqi.InvalidError
	switch {
	case errors.As(err, &silent):
		return nil
	case errors.As(err, &invalid):
		var lines []string
		for _, f := range invalid.Faults {
			line := f.Message
			if a.names != nil {
				line = label(a.names(f.Pointer), line)
			} else if f.Pointer != "" {
				line = strings.ReplaceAll(strings.TrimPrefix(f.Pointer, "/"), "/", ".") + ": " + line
			}
			lines = append(lines, line)
		}
		return lines
	case errors.Is(err, client.ErrUnreachable):
		return append(strings.Split(err.Error(), "\n"), "is the service running, and is it at this address? --server or RUQI_SERVER says where: "+a.address())
	case errors.Is(err, errTokenFile):
		return []string{err.Error()}
	case errors.Is(err, client.ErrDenied):
		return a.explainDenied()
	case errors.Is(err, ruqi.ErrExists):
		return append(strings.Split(err.Error(), "\n"), "--on-conflict keep leaves the job there is as it is; --on-conflict replace puts the new one in its place")
	}
	return strings.Split(err.Error(), "\n")
}

// label puts the name of what was wrong before the message, in the place of the name that
// the message may begin with.
func label(name, message string) string {
	if name == "" {
		return message
	}
	own := strings.TrimLeft(name, "-")
	if name == "--at" {
		own = "date" // as triggers call it
	}
	return name + ": " + strings.TrimPrefix(message, own+": ")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ruqi",
		Short: "Schedule jobs, see them run, and know why one did not",
		Long: "Ruqi schedules jobs. \"ruqi serve\" runs the service; the other commands talk to it.\n\n" +
			"Exit status: 0 done, 1 failed, 2 wrong usage or bad input, 3 not found, 4 not allowed, 5 server unreachable.",
		SilenceErrors: true, SilenceUsage: true, Version: a.Version,
	}
	root.SetVersionTemplate("ruqi {{.Version}}\n")
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout) // before the commands for completion are made, which take it as it is then
	root.SetErr(a.Stderr)
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "`address` of the service (RUQI_SERVER; default "+defaultServer+")")
	flags.StringVar(&a.token, "token", "", "`token` for the service (RUQI_TOKEN; default: the admin token in the data directory)")
	flags.StringVar(&a.dataDir, "data-dir", "", "data `directory` of the service (RUQI_DATA_DIR; default /var/lib/ruqi for root, else ~/.local/state/ruqi)")
	flags.StringVarP(&a.output, "output", "o", "table", "how to show results, `table|json`")
	root.SetFlagErrorFunc(flagFault)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := readable(cmd, args); err != nil {
			return err
		}
		if a.output != "table" && a.output != "json" {
			return usage("-o: %q is unknown; %s", a.output, wire.Instead(a.output, "table", "json"))
		}
		return nil
	}
	root.AddCommand(a.serveCommand(), a.jobCommand(), a.runCommand(), a.instanceCommand(), a.storeCommand(), a.statusCommand(), a.wakeupCommand(), a.nextCommand(), a.calendarCommand(), a.applyCommand(), a.diffCommand(), a.importCommand(), a.versionCommand())
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(a.exportCommand())
	root.AddCommand(a.describeCommand(), a.explainCommand())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			for _, shell := range group(cmd).Commands() {
				shell.Args = exactly()
			}
		}
	}
	return group(root)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version", Args: exactly(), RunE: func(*cobra.Command, []string) error {
		if a.output == "json" {
			return a.printJSON(map[string]string{"version": a.Version})
		}
		return a.print("ruqi %s\n", a.Version)
	}}
}
