package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

// group makes a command without one of its own show its help, and refuse what is no command of it.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return noCommand(cmd, args[0])
		}
		about := cmd.Long
		if about == "" {
			about = cmd.Short + "."
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s\n\n%s\n", about, cmd.UsageString()) // the status tells it too
		return usage("%s wants a command", cmd.CommandPath())
	}
	return cmd
}

// noCommand tells of a word that is no command of cmd.
func noCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage("%q is no command of %s%s; %s", word, cmd.CommandPath(), didYouMean("", meant(cmd, word, names)), wire.Accepted(names...))
}

// meant returns the commands that someone may have meant: one that other programs call by the word, those that are spelt alike, or those of
// that name elsewhere.
func meant(cmd *cobra.Command, word string, names []string) (found []string) {
	for _, sub := range cmd.Commands() {
		if slices.Contains(sub.SuggestFor, word) {
			return []string{sub.Name()}
		}
	}
	if found = alike(word, names); len(found) > 0 {
		return found
	}
	for _, group := range cmd.Root().Commands() {
		for _, sub := range group.Commands() {
			if group.IsAvailableCommand() && (sub.Name() == word || sub.HasAlias(word)) {
				found = append(found, group.Name()+" "+sub.Name())
			}
		}
	}
	return found
}

// helpCommand is cobra's, but for what it does with a command that is none.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			switch {
			case err != nil:
				return usage("%v", err)
			case len(rest) > 0 && cmd.HasAvailableSubCommands():
				return noCommand(cmd, rest[0])
			case len(rest) > 0:
				return usage("%s has no commands of its own, such as %q", cmd.CommandPath(), rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
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

// ofHost are flags whose values name things of this host, or are secret: they are no texts for the service.
var ofHost = map[string]bool{"file": true, "data-dir": true, "store": true, "token": true}

// readable refuses what is not UTF-8. JSON cannot carry it, and would bring something else in its place.
func readable(cmd *cobra.Command, args []string) error {
	var faults []error
	check := func(name string, values ...string) {
		for _, value := range values {
			if !utf8.ValidString(value) {
				faults = append(faults, usage("%s", label(name, fmt.Sprintf("%q is not UTF-8", value))))
			}
		}
	}
	check("", args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if !ofHost[f.Name] {
			check(flagName(f), values...)
		}
	})
	return errors.Join(faults...)
}

// flagFault words what is wrong with a flag.
func flagFault(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		return usage("%s: %s", flagName(value.GetFlag()), valueFault(value.GetFlag(), value.GetValue(), value.Unwrap()))
	case errors.As(err, &missing):
		return usage("%s: there is no value after it", flagName(missing.GetFlag()))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		near := alike(name, names)
		if len(near) == 0 {
			near = slices.DeleteFunc(slices.Clone(otherWords[name]), func(own string) bool { return !slices.Contains(names, own) })
		}
		return usage("unknown flag --%s%s; see %s --help", name, didYouMean("--", near), cmd.CommandPath())
	}
	return usage("%v; see %s --help", err, cmd.CommandPath())
}

// otherWords are what other programs call the flags.
var otherWords = map[string][]string{
	"cmd": {"command"}, "exec": {"command"}, "script": {"command"}, "schedule": {"cron", "every"}, "crontab": {"cron"}, "expression": {"cron"},
	"interval": {"every"}, "date": {"at"}, "time": {"at"}, "zone": {"tz"}, "timezone": {"tz"}, "time-zone": {"tz"}, "url": {"webhook"},
	"cwd": {"dir"}, "chdir": {"dir"}, "workdir": {"dir"}, "disabled": {"paused"}, "max-retries": {"retry"}, "json": {"output"}, "format": {"output"},
	"host": {"server"}, "address": {"server"}, "port": {"listen"}, "bind": {"listen"}, "addr": {"server", "listen"}, "db": {"store"}, "database": {"store"},
}

// flagName is how a flag is written.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// valueFault says what is wrong with the value of a flag, without the words of the library that read it.
func valueFault(f *pflag.Flag, value string, err error) string {
	if errors.Is(err, errTwice) {
		return err.Error()
	}
	switch f.Value.Type() {
	case "int":
		return fmt.Sprintf("%q is not a whole number", value)
	case "bool":
		return fmt.Sprintf("%q is unknown; %s", value, wire.Instead(value, "true", "false"))
	}
	return fmt.Sprintf("%q cannot be read: %v", value, err)
}

// alike returns the names that someone may have meant by word: those that begin with it, or else the one that is nearly it.
func alike(word string, names []string) []string {
	word = strings.ToLower(word)
	var found []string
	for _, name := range names {
		if len(word) >= leastBeginning && strings.HasPrefix(name, word) {
			found = append(found, name)
		}
	}
	if near := object.Nearest(word, names); len(found) == 0 && near != "" {
		return []string{near}
	}
	return found
}

// leastBeginning is how much of a name somebody must have written for it to be meant, in letters: one letter begins too many.
const leastBeginning = 2

// didYouMean asks for one of the words, if there are any.
func didYouMean(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ", did you mean " + prefix + strings.Join(words, " or "+prefix) + "?"
}
