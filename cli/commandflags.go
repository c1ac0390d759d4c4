package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// commandFlags are the flags of a command's process.
type commandFlags struct {
	user, umask, nice, stdin string
	login                    bool
	limits                   []string
	// input is what --stdin - reads.
	input io.Reader
}

func (f *jobFlags) registerCommand(set *pflag.FlagSet) {
	set.StringVar(&f.user, "user", "", "run the command as `user`; the service must run as root (default: the user of the service)")
	set.StringVar(&f.umask, "umask", "", "`mask` in octal of the rights that files made by the command do not have: 022")
	set.StringVar(&f.nice, "nice", "", "lower the command's priority for the CPU by `n`, 1 to 19")
	set.BoolVar(&f.login, "login", false, "start in the user's home and in the environment of a login, a text by a login shell")
	set.StringVar(&f.stdin, "stdin", "", "`text` for the command's standard input; @FILE: what is in that file; -: what is read here; @@…: a text that begins with @")
	set.StringArrayVar(&f.limits, "limit", nil, "`K=V`, most that each process may take: cpu_time=30s, memory_bytes=512MiB, open_files=100, processes=20; may be given again")
}

// process takes over the flags of the command's process.
func (f *jobFlags) process(t members, faults *ruqi.Faults) {
	for flag, value := range map[string]string{"user": f.user, "umask": f.umask} {
		if !f.given(flag) {
			continue
		}
		t[flag] = value
		if f.change && value == none {
			t[flag] = nil
		}
	}
	f.number(t, "/task/", "nice", "nice", f.nice, faults)
	if f.given("login") {
		t["login"] = f.login
	}
	if f.given("stdin") {
		t["stdin"] = f.text(faults)
	}
	if f.given("limit") {
		t["limits"] = f.limitPairs(faults)
	}
}

// text returns what the command is to read.
func (f *jobFlags) text(faults *ruqi.Faults) any {
	from := f.input
	switch rest, at := strings.CutPrefix(f.stdin, "@"); {
	case f.change && f.stdin == none:
		return nil
	case f.stdin == "-":
	case !at, strings.HasPrefix(rest, "@"):
		return rest // without the first @, if it has two
	default:
		file, err := os.Open(rest)
		if err != nil {
			faults.Add("/task/stdin", "", "%v", err)
			return nil
		}
		defer func() { _ = file.Close() }() // only read
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, command.MostText+1)) // one more than is accepted, for the task's check to see
	if err != nil {
		faults.Add("/task/stdin", "", "%v", err)
	}
	return string(text)
}

// limitPairs reads limits; what can be one is for the service to judge.
func (f *jobFlags) limitPairs(faults *ruqi.Faults) any {
	given := members{}
	switch list := f.pairs(faults, "/task/limits", f.limits).(type) {
	case nil:
		return nil
	case members:
		given = list
	case map[string]string:
		for key, value := range list {
			given[key] = value
		}
	}
	for key, value := range given {
		text, is := value.(string)
		if !is || key == "cpu_time" {
			continue
		}
		n, err := sizeOf(text)
		if err != nil {
			faults.Add("/task/limits/"+key, text, "%v", err)
			continue
		}
		given[key] = n
	}
	return given
}

// sizes are the units of memory that people write.
var sizes = map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

var otherSize = regexp.MustCompile(`^([0-9]+) ?([KkMmGgTt])(i?[Bb]?)$`)

// sizeMeant asks for the size that is written with another unit, such as 512M, which is a power of two to some and of ten to others.
func sizeMeant(text string) string {
	found := otherSize.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", found[1]+strings.ToUpper(found[2])+"iB")
}

// sizeOf reads a whole number, with a unit of memory or without.
func sizeOf(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGTiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, known := sizes[text[len(digits):]]
	if err != nil || !known || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no whole number, alone or with KiB, MiB or GiB%s", text, sizeMeant(text))
	}
	return n * unit, nil
}
