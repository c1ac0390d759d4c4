package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
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
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	for _, line := range a.explain(err) {
		_, _ = fmt.Fprintln(a.Stderr, "ruqi: "+escape(line)) // where else could it be told
	}
	return exitStatus(err)
}

// app is what the commands share.
type app struct {
	System
	server, token, dataDir, output string
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

func exitStatus(err error) int {
	var silent *silentError
	var wrong *usageError
	switch {
	case errors.As(err, &silent):
		return silent.status
	case errors.As(err, &wrong), errors.Is(err, ruqi.ErrInvalid), errors.Is(err, ruqi.ErrClosure):
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
		return []string{err.Error(), "is the service running, and is it at this address? --server or RUQI_SERVER says where: " + a.address()}
	case errors.Is(err, client.ErrDenied):
		return []string{err.Error(), "--token or RUQI_TOKEN gives the token; the service says at its first start in which file it is"}
	}
	return strings.Split(err.Error(), "\n")
}

// label puts the name of what was wrong before the message, in the place of the name that
// the message may begin with.
func label(name, message string) string {
	if name == "" {
		return message
	}
	return name + ": " + strings.TrimPrefix(message, strings.TrimLeft(name, "-")+": ")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ruqi",
		Short: "Schedule jobs, see them run, and know why one did not",
		Long: "Ruqi schedules jobs. \"ruqi serve\" runs the service; the other commands talk to it.\n\n" +
			"Exit status: 0 done, 1 failed, 2 wrong usage or bad input, 3 not found, 4 not allowed, 5 server unreachable.",
		SilenceErrors: true, SilenceUsage: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "address of the service (RUQI_SERVER; default "+defaultServer+")")
	flags.StringVar(&a.token, "token", "", "token for the service (RUQI_TOKEN; default: the admin token in the data directory)")
	flags.StringVar(&a.dataDir, "data-dir", "", "data directory of the service (RUQI_DATA_DIR; default /var/lib/ruqi for root, else ~/.local/state/ruqi)")
	flags.StringVarP(&a.output, "output", "o", "table", "how to show results: table or json")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v; see %s --help", err, cmd.CommandPath())
	})
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.output != "table" && a.output != "json" {
			return usage("-o: %q is unknown; accepted are table and json", a.output)
		}
		return nil
	}
	root.AddCommand(a.serveCommand(), a.jobCommand(), a.runCommand(), a.statusCommand(), a.wakeupCommand(), a.nextCommand(), a.versionCommand())
	group(root)
	return root
}

// group makes a command without one of its own refuse what is no command of it.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		wanted := strings.Join(names, ", ")
		if len(args) > 0 {
			return usage("%q is no command of %s; there are %s", args[0], cmd.CommandPath(), wanted)
		}
		return usage("%s wants a command: %s", cmd.CommandPath(), wanted)
	}
	return cmd
}

// exactly is cobra.ExactArgs as a wrong usage.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			if len(names) == 0 {
				return usage("%s takes no arguments, and has %d", cmd.CommandPath(), len(args))
			}
			return usage("%s wants %s, and has %d arguments", cmd.CommandPath(), strings.Join(names, " and "), len(args))
		}
		for i, arg := range args {
			if arg == "" {
				return usage("%s: %s is empty", cmd.CommandPath(), names[i])
			}
		}
		return nil
	}
}

// address returns where the service is, as far as it was said.
func (a *app) address() string {
	for _, address := range []string{a.server, a.Getenv("RUQI_SERVER")} {
		if address != "" {
			return address
		}
	}
	return defaultServer
}

// connect returns a client of the service.
func (a *app) connect() (*client.Client, error) {
	address := a.address()
	token := a.token
	if token == "" {
		token = a.Getenv("RUQI_TOKEN")
	}
	if token == "" && isLocal(address) {
		// The file's token is this host's service's; it is not sent to another.
		var err error
		if token, err = a.fileToken(); err != nil {
			return nil, err
		}
	}
	c, err := client.New(address, token, standard.Registry(), client.Options{Agent: "ruqi-cli"})
	if err != nil {
		a.names = func(pointer string) string { return "-" + strings.ReplaceAll(pointer, "/", "-") }
		return nil, err
	}
	return c, nil
}

// fileToken reads the admin token from the data directory; empty when it is not there.
func (a *app) fileToken() (string, error) {
	dir, err := a.dataDirectory()
	if err != nil {
		return "", nil // no home, no file
	}
	text, err := os.ReadFile(filepath.Join(dir, tokenFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case errors.Is(err, os.ErrPermission):
		return "", fmt.Errorf("%w: %w; --token or RUQI_TOKEN gives another", client.ErrDenied, err)
	case err != nil:
		return "", err
	}
	return string(bytes.TrimSpace(text)), nil
}

// isLocal reports whether the address is one of this host's loopback.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLoopback(u.Hostname())
}

// isLoopback reports whether only this host can reach a listener at that host name.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version", Args: exactly(), RunE: func(*cobra.Command, []string) error {
		if a.output == "json" {
			return a.printJSON(map[string]string{"version": a.Version})
		}
		return a.print("ruqi %s\n", a.Version)
	}}
}
