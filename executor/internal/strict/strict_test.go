package strict_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/internal/strict"
)

func TestAllFaultsOfAnObjectAreTold(t *testing.T) {
	o, err := strict.Read([]byte(`{"kind":"x","a":1,"list":["y",2],"map":{"k":"v","k":"w","m":[]},"a~/b":0,"none":null,"a":"again"}`))
	if err != nil {
		t.Fatal(err)
	}
	o.Kind("z")
	_, isText := o.Text("a")
	_, isList := o.Texts("list")
	texts, isMap := o.TextMap("map")
	if _, given := o.Text("none"); given || isText || isList || isMap || texts["k"] != "v" || o.Has("none") || !o.Has("a") {
		t.Errorf("read: %v %v %v %v", isText, isList, isMap, texts)
	}
	var invalid *ruqi.InvalidError
	if !errors.As(o.Done("kind", "a"), &invalid) {
		t.Fatal("no fault was told")
	}
	var got []string
	for _, fault := range invalid.Faults {
		got = append(got, fault.Pointer)
	}
	slices.Sort(got)
	if want := []string{"/a", "/a", "/a~0~1b", "/kind", "/list/1", "/map/k", "/map/m"}; !slices.Equal(got, want) {
		t.Errorf("the faults are at %q, expected %q", got, want)
	}
}

func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `"x"`, "{", "{}{}", "{,}", "\xff", `{"a":"` + "\xff" + `"}`} {
		if _, err := strict.Read([]byte(text)); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if o, err := strict.Read([]byte(" {} ")); err != nil || o.Done() != nil {
		t.Errorf("the empty object: %v", err)
	}
}
