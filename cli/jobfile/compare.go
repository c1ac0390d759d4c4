package jobfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/wire"
)

// A Difference is a member of a job that has two values. Lists differ as a whole.
type Difference struct {
	Pointer string `json:"pointer"`
	// Old and New are values of JSON, numbers as json.Number; nil: none.
	Old any `json:"old"`
	New any `json:"new"`
}

// Differences tells what two canonical definitions of a job differ in, by pointer. given reports whether whoever wants the
// new one says something of a part; an interval's anchor, which a new length brings along, is told only then, or when it is all there is.
func Differences(before, after ruqi.JobSpec, given func(pointer string) bool) ([]Difference, error) {
	left, err := members(before)
	if err != nil {
		return nil, err
	}
	right, err := members(after)
	if err != nil {
		return nil, err
	}
	const anchor = "/trigger/anchor"
	found := compare(nil, "", left, right)
	if !given(anchor) && slices.ContainsFunc(found, func(d Difference) bool { return d.Pointer != anchor && strings.HasPrefix(d.Pointer, "/trigger/") }) {
		found = slices.DeleteFunc(found, func(d Difference) bool { return d.Pointer == anchor })
	}
	return found, nil
}

// Says tells what a canonical definition has other than the defaults, as differences from nothing.
func Says(spec ruqi.JobSpec, given func(pointer string) bool) ([]Difference, error) {
	found, err := Differences(ruqi.JobSpec{ID: spec.ID, Name: spec.ID}, spec, given)
	if err != nil {
		return nil, err
	}
	usual := map[string]any{"/trigger/gap": "run_after", "/trigger/fold": "auto"}
	return slices.DeleteFunc(found, func(d Difference) bool {
		return d.New == nil || d.New == usual[d.Pointer] || d.Pointer == "/trigger/anchor" && !given(d.Pointer)
	}), nil
}

// members returns the canonical members of a definition.
func members(spec ruqi.JobSpec) (any, error) {
	shape, err := wire.FromSpec(spec)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return nil, err
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

func compare(found []Difference, pointer string, before, after any) []Difference {
	left, one := before.(map[string]any)
	right, two := after.(map[string]any)
	switch {
	case reflect.DeepEqual(before, after):
		return found
	case one && two, one && after == nil, before == nil && two && len(right) > 0:
	default:
		return append(found, Difference{pointer, before, after})
	}
	names := maps.Clone(left)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, right)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		found = compare(found, pointer+object.Pointer(name), left[name], right[name])
	}
	return found
}
