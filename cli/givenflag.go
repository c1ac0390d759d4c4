package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A given is a flag as it stands on the command line.
type given struct {
	flag *pflag.Flag
	// value is that of a flag that is true or false, as it is written; empty where the flag stands alone.
	value string
	// next is the argument behind a flag that wants none.
	next string
}

// misgiven refuses flags that the library would take otherwise than they are meant.
func misgiven(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return nil // it is told elsewhere
	}
	all := givenFlags(cmd, rest)
	if err := valueApart(all); err != nil {
		return err
	}
	return givenTwice(all)
}

// givenFlags returns the flags that a command knows.
func givenFlags(cmd *cobra.Command, args []string) (all []given) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		flag, apart := lastFlag(cmd, args[i])
		if flag == nil {
			continue
		}
		g := given{flag: flag}
		switch {
		case !apart:
			_, g.value, _ = strings.Cut(args[i], "=")
		case flag.NoOptDefVal == "":
			i++ // its value
		case i+1 < len(args):
			g.next = args[i+1]
		}
		all = append(all, g)
	}
	return all
}

// valueApart refuses a flag that is true or false with such a word behind it, which would be taken for an argument, and the flag for true.
func valueApart(all []given) error {
	for _, g := range all {
		if word := strings.ToLower(g.next); g.flag.Value.Type() == "bool" && (word == "true" || word == "false") {
			return usage("--%s: the %q after it is an argument of its own; write --%s=%s", g.flag.Name, word, g.flag.Name, word)
		}
	}
	return nil
}

// givenTwice refuses flags that take one value and are given several: all but the last would be lost without a word. One that is true or
// false may be said again.
func givenTwice(all []given) error {
	var order []*pflag.Flag
	times, said := map[*pflag.Flag]int{}, map[*pflag.Flag]map[bool]bool{}
	for _, g := range all {
		if times[g.flag]++; times[g.flag] == 1 {
			order, said[g.flag] = append(order, g.flag), map[bool]bool{}
		}
		is, err := strconv.ParseBool(g.value)
		said[g.flag][is || err != nil] = true
	}
	var faults []error
	for _, flag := range order {
		_, gathers := flag.Value.(pflag.SliceValue)
		_, own := flag.Value.(*onceFlag) // it says more of itself
		isBool := flag.Value.Type() == "bool"
		switch n := times[flag]; {
		case n == 1, gathers, own, isBool && len(said[flag]) == 1:
		case isBool:
			faults = append(faults, usage("%s is given as true and as false", flagName(flag)))
		case n == 2:
			faults = append(faults, usage("%s is given twice", flagName(flag)))
		default:
			faults = append(faults, usage("%s is given %d times", flagName(flag), n))
		}
	}
	return errors.Join(faults...)
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
