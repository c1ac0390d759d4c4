package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// paramFlags are the params of a run that is started by hand.
type paramFlags struct {
	set   *pflag.FlagSet
	whole string
	pairs []string
}

func (f *paramFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.whole, "params", "", "a JSON `object` laid over the job's params, for values that are no text")
	set.StringArrayVar(&f.pairs, "param", nil, "`K=V` laid over the job's params, V as text; may be given again")
}

// read returns the params that were given, nil for none. A name may be given by one of the flags only.
func (f *paramFlags) read() (json.RawMessage, error) {
	var faults ruqi.Faults
	texts := pairs(&faults, "/params", f.pairs)
	over := map[string]json.RawMessage{}
	if f.set.Changed("params") {
		report := func(pointer, value, format string, args ...any) {
			faults.Add("/params"+pointer, value, format, args...)
		}
		if _, err := object.Read([]byte(f.whole), report); err != nil {
			return nil, usage("--params: %v", err)
		}
		if err := json.Unmarshal([]byte(f.whole), &over); err != nil {
			return nil, usage("--params: %v", err)
		}
	}
	for name, value := range texts {
		if _, twice := over[name]; twice {
			faults.Add("/params"+object.Pointer(name), value, "given by --params too")
		}
		text, err := encode(value)
		if err != nil {
			return nil, err
		}
		over[name] = text
	}
	if err := faults.Err(); err != nil || len(over) == 0 {
		return nil, err
	}
	return encode(over)
}

// name tells by which flag a param came that a fault is about.
func (f *paramFlags) name(pointer string) string {
	path := strings.TrimPrefix(strings.TrimPrefix(pointer, "/params"), "/")
	first, _, _ := strings.Cut(path, "/")
	if !f.set.Changed("params") || slices.ContainsFunc(f.pairs, func(pair string) bool { return strings.HasPrefix(pair, first+"=") }) {
		return strings.TrimSpace("--param " + first)
	}
	return strings.TrimSpace("--params " + strings.ReplaceAll(path, "/", "."))
}
