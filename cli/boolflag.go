package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// valueApart refuses a flag that is true or false with such a word behind it, which would be taken for an argument, and the flag for true.
func valueApart(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return nil // it is told elsewhere
	}
	for i := 0; i < len(rest) && rest[i] != "--"; i++ {
		flag, apart := lastFlag(cmd, rest[i])
		switch {
		case flag == nil || !apart:
		case flag.NoOptDefVal == "":
			i++ // its value
		case flag.Value.Type() == "bool" && i+1 < len(rest) && (strings.EqualFold(rest[i+1], "true") || strings.EqualFold(rest[i+1], "false")):
			word := strings.ToLower(rest[i+1])
			return usage("--%s: the %q after it is an argument of its own; write --%s=%s", flag.Name, word, flag.Name, word)
		}
	}
	return nil
}

// lastFlag returns the flag that an argument names, of several letters the last; nil for other arguments. apart is whether nothing in the
// argument is its value.
func lastFlag(cmd *cobra.Command, arg string) (flag *pflag.Flag, apart bool) {
	if long, is := strings.CutPrefix(arg, "--"); is {
		name, _, valued := strings.Cut(long, "=")
		return cmd.Flag(name), !valued
	}
	letters, is := strings.CutPrefix(arg, "-")
	if !is {
		return nil, false
	}
	for i := range len(letters) {
		if flag = letterFlag(cmd, letters[i:i+1]); flag == nil || flag.NoOptDefVal == "" {
			return flag, i+1 == len(letters) // the rest is its value
		}
	}
	return flag, true
}

func letterFlag(cmd *cobra.Command, letter string) *pflag.Flag {
	if flag := cmd.Flags().ShorthandLookup(letter); flag != nil {
		return flag
	}
	return cmd.InheritedFlags().ShorthandLookup(letter)
}
