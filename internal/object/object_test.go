package object_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// notes collects what is reported, a line each.
type notes []string

func (n *notes) add(pointer, value, format string, args ...any) {
	*n = append(*n, fmt.Sprintf("%s [%s] ", pointer, value)+fmt.Sprintf(format, args...))
}

// A whole number that is not written in digits alone is refused with how it is.
func TestAWholeNumberIsWrittenInDigits(t *testing.T) {
	for text, want := range map[string]string{
		"1e9": "write it in digits alone: 1000000000", "-1.50E1": "write it in digits alone: -15", "2.0": "write it in digits alone: 2", "-0.0": "write it in digits alone: 0",
		"1e19": "out of range", "-1e400": "out of range", "1.5": "not a whole number", "1e-1": "not a whole number", `"1e9"`: "not a whole number", "[1]": "not a whole number",
		"9007199254740993.5": "not a whole number", "1.00000000000000000001": "not a whole number", "1e-400": "not a whole number",
	} {
		var got notes
		o, err := object.Read([]byte(`{"n":`+text+`}`), got.add)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := o.Int("n"); ok || len(got) != 1 || got[0] != "/n ["+text+"] "+want {
			t.Errorf("%s: %d, %v, %q; want %q", text, n, ok, got, want)
		}
	}
}

func TestAllFaultsOfAnObjectAreTold(t *testing.T) {
	var got notes
	o, err := object.Read([]byte(`{"kind":"x","a":1,"list":["y",2,null],"map":{"k":"v","k":"w","m":[]},"a~/b":0,"none":null,"a":"again",
		"yes":"true","n":1.5,"big":99999999999999999999,"any":{"x":[{"y":1,"y":2}],"x":3},"length":"long"}`), got.add)
	if err != nil {
		t.Fatal(err)
	}
	o.Kind("z")
	_, isText := o.Text("a")
	_, isList := o.Texts("list")
	texts, isMap := o.TextMap("map")
	_, isBool := o.Bool("yes")
	_, isInt := o.Int("n")
	_, isSmall := o.Int("big")
	_, given := o.Text("none")
	_, there := o.Need("gone")
	_, isAny := o.Any("any")
	_, isLength := object.Parse(o, "length", "a text", func(string) (int, error) { return 0, errors.New("no length") })
	if isText || isList || isMap || isBool || isInt || isSmall || given || there || isLength || !isAny || texts["k"] != "v" || o.Has("none") || !o.Has("a") {
		t.Errorf("read: %v %v %v %v %v %v %v %v %v %v", isText, isList, isMap, isBool, isInt, isSmall, given, there, isLength, texts)
	}
	o.Done("kind", "a")
	want := []string{
		`/a ["again"] given twice`, `/kind [x] not "z"`, `/a [1] not a text`, `/list/1 [2] not a text`, `/list/2 [null] not a text`,
		`/map/k ["w"] given twice`, `/map/m [[]] not a text`, `/yes ["true"] not true or false`, `/n [1.5] not a whole number`,
		`/big [99999999999999999999] out of range`, `/gone [] missing`, `/any/x/0/y [] given twice`, `/any/x [] given twice`,
		`/length [long] no length`, `/a~0~1b [0] unknown member; accepted are kind and a`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("told:\n%s\nexpected:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "not JSON: there is nothing", "null": "not a JSON object", "[]": "not a JSON object", `"x"`: "not a JSON object",
		"{": "not JSON: unexpected EOF", "{}{}": "more than one JSON value", "{} x": "more than one JSON value", "\xff": "not UTF-8",
		`{"a":"` + "\xff" + `"}`:    "not UTF-8",
		`{"a":"\ud83d"}`:            `\ud83d is half a character without its other half`,
		`{"a":"\ud83d\n"}`:          `\ud83d is half a character without its other half`,
		`{"a":"\ude00\ud83d"}`:      `\ude00 is half a character without its other half`,
		`{"\uD83D":1}`:              `\ud83d is half a character without its other half`,
		`{"a":{"b":["x\\\udc00"]}}`: `\udc00 is half a character without its other half`,
	} {
		var syntax *object.SyntaxError
		if _, err := object.Read([]byte(text), nil); !errors.As(err, &syntax) || syntax.Message != want {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
	for _, text := range []string{" {} ", `{"a":"\ud83d\ude00 \\ud83d \u00e9"}`, `{"😀":"é"}`} {
		if _, err := object.Read([]byte(text), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsKeptIsReadStill(t *testing.T) {
	for _, text := range []string{`{"a":"\ud83d"}`, "{\"a\":\"\xff\"}"} {
		o, err := object.ReadKept([]byte(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if text, ok := o.Text("a"); !ok || text != "\ufffd" {
			t.Errorf("read %q", text)
		}
	}
	if _, err := object.ReadKept([]byte("{"), nil); err == nil {
		t.Error("half a row is read")
	}
}

func TestMembersComeInTheirOrder(t *testing.T) {
	o, err := object.Read([]byte(`{"z":1, "a": [ ] ,"m":null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s", o.Members()); got != `[{z 1} {a [ ]} {m null}]` {
		t.Error(got)
	}
	o.Done() // all were asked for
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"a":{"b":[1,{"c":2,"c":3}]},"a":"\ud83d\ude00"}`, `{"~/":"\\u"}`, `[{"a":1,"a":2}]`, `{"a":"\ud800"}`, "{}{}", "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var atLevel, atAll notes
		o, err := object.Read(data, atLevel.add)
		checked := object.Check(data, atAll.add)
		if err != nil {
			return
		}
		if checked != nil {
			t.Fatalf("read, but refused by Check: %v", checked)
		}
		if len(atAll) < len(atLevel) {
			t.Errorf("at this level %q, at all %q", atLevel, atAll)
		}
		for _, m := range o.Members() {
			o.Text(m.Name)
			o.TextMap(m.Name)
			o.Texts(m.Name)
			o.Int(m.Name)
			if _, ok := o.Any(m.Name); ok != o.Has(m.Name) {
				t.Errorf("%q is there and is not", m.Name)
			}
		}
		for _, note := range append(atLevel, atAll...) {
			if !strings.HasPrefix(note, "/") {
				t.Errorf("no pointer: %s", note)
			}
		}
	})
}

// TestMembersAreThoseOfTheStandardDecoder compares what is read with what encoding/json reads, for random objects.
func TestMembersAreThoseOfTheStandardDecoder(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	space := func() string { return []string{"", "", " ", "\n\t", "\r "}[random.IntN(5)] }
	names := []string{`a`, `b`, ``, `\u0061`, `\"`, `\\`, `{`, `]`, `,`, `ü`, `a b`, `\ud83d\ude00`, `/~`}
	var value func(depth int) string
	members := func(depth int) string {
		var list []string
		n := random.IntN(5)
		if depth == 4 && random.IntN(10) == 0 {
			n = 80 // more than are looked through one by one
		}
		for range n {
			name := names[random.IntN(len(names))]
			if n > 5 {
				name = fmt.Sprint(name, random.IntN(50))
			}
			list = append(list, space()+`"`+name+`"`+space()+":"+space()+value(depth-1)+space())
		}
		return "{" + strings.Join(list, ",") + space() + "}"
	}
	value = func(depth int) string {
		switch n := random.IntN(9); {
		case n < 2 && depth > 0:
			return members(depth)
		case n < 4 && depth > 0:
			var items []string
			for range random.IntN(4) {
				items = append(items, space()+value(depth-1)+space())
			}
			return "[" + strings.Join(items, ",") + "]"
		case n < 6:
			return `"` + names[random.IntN(len(names))] + `"`
		default:
			return []string{"0", "-1.5e+3", "true", "null", "false"}[random.IntN(5)]
		}
	}
	for range 5000 {
		text := space() + members(4) + space()
		var got notes
		o, err := object.Read([]byte(text), got.add)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want []object.Member
		var twice notes
		seen := map[string]bool{}
		decoder := json.NewDecoder(strings.NewReader(text))
		_, err = decoder.Token()
		for err == nil && decoder.More() {
			var token json.Token
			if token, err = decoder.Token(); err != nil {
				break
			}
			var raw json.RawMessage
			err = decoder.Decode(&raw)
			name := token.(string)
			if seen[name] {
				twice.add(object.Pointer(name), string(raw), "given twice")
				continue
			}
			seen[name] = true
			want = append(want, object.Member{Name: name, Value: raw})
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if found := o.Members(); !slices.EqualFunc(found, want, func(a, b object.Member) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) }) || !slices.Equal(got, twice) {
			t.Fatalf("%s: members %q, want %q; reported %q, want %q", text, found, want, got, twice)
		}
	}
}

func TestAPointerIsTakenApartAgain(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"a"}, {"a/b", "~1", "~0~/", "", "0"}} {
		if got := object.Names(object.Pointer(names...)); !slices.Equal(got, names) {
			t.Errorf("%q came back as %q", names, got)
		}
	}
}
