package ruqi

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestProgressTextIsOneLineThatCanBeShown(t *testing.T) {
	long := strings.Repeat("é", MaxProgressText)
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"page 4 of 10", "page 4 of 10"},
		{" \t\r\n around \n", "around"},
		{"two\nlines\r\nand\ttabs", "two lines  and tabs"},
		{"\x1b[31mred\x1b]0;title\a\x00\u009b\u2028", "[31mred ]0;title"},
		{"日本\u200d🙂", "日本\u200d🙂"},
		{"bad \xff\xc3(", "bad \ufffd\ufffd("},
		{long, long},
		{long + "é", strings.Repeat("é", MaxProgressText-1) + "…"},
		{strings.Repeat("\x00", 1<<20), ""},
		{"a" + strings.Repeat("\x00", 1<<20), "a"},
		{"a" + strings.Repeat("\x00", 1<<20) + "b", "a" + strings.Repeat(" ", MaxProgressText-2) + "…"},
		{strings.Repeat(" ", 1<<20) + "x", "x"},
		{strings.Repeat("🙂", 1<<10), strings.Repeat("🙂", MaxProgressText-1) + "…"},
	} {
		if got := progressText(c.in); got != c.want {
			t.Errorf("%.40q is kept as %.60q, want %.60q", c.in, got, c.want)
		}
	}
}

func FuzzProgressText(f *testing.F) {
	f.Add("page 4 \x1b[31m of 10\n")
	f.Add("\xff" + strings.Repeat("🙂", 300))
	f.Fuzz(func(t *testing.T, text string) {
		got := progressText(text)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > MaxProgressText || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q is kept as %q", text, got)
		}
	})
}

func TestFractionsAreKeptWithinTheirBounds(t *testing.T) {
	r := &report{}
	for _, c := range []struct{ told, want float64 }{
		{math.NaN(), 0}, {0.25, 0.25}, {math.NaN(), 0.25}, {-1, 0}, {1.5, 1}, {math.NaN(), 1}, {math.Inf(-1), 0}, {math.Inf(1), 1}, {math.Copysign(0, -1), 0},
	} {
		r.Progress(c.told, "")
		if _, got, _ := (&report{progress: r.progress}).close(); got == nil || *got != c.want || math.Signbit(*got) {
			t.Errorf("%v is kept as %v, want %v", c.told, got, c.want)
		}
	}
}

func TestWhatAResultMayBe(t *testing.T) {
	largest := `"` + strings.Repeat("x", MaxResult-2) + `"`
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ name, in, want, err string }{
		{"null", " null ", "", ""},
		{"a number as it is written", "12345678901234567890.50", "12345678901234567890.50", ""},
		{"blanks between its parts", "\r\n{ \"a\" : [ 1 , \"b  c\" ] }\n", `{"a":[1,"b  c"]}`, ""},
		{"what is for web pages", `"<&>\u0000"`, `"<&>\u0000"`, ""},
		{"the largest", largest + strings.Repeat(" ", 1<<10), largest, ""},
		{"a byte more", largest[:len(largest)-1] + `x"`, "", "65537 bytes of JSON; accepted are at most 65536"},
		{"deep", nested(maxResultDepth), nested(maxResultDepth), ""},
		{"too deep", nested(maxResultDepth + 1), "", "more than 100 lists and objects within each other"},
		{"brackets in a text", `["` + strings.Repeat(`[{\"\\`, 500) + `"]`, `["` + strings.Repeat(`[{\"\\`, 500) + `"]`, ""},
		{"nothing", "", "", "not JSON: unexpected end of JSON input"},
		{"two values", "1 2", "", "not JSON: invalid character '2' after top-level value"},
		{"a word", "done", "", "not JSON: invalid character 'd' looking for beginning of value"},
		{"what is not UTF-8", "\"\xff\"", "", "not UTF-8"},
	} {
		r := &report{result: json.RawMessage("1")}
		err := r.SetResult(json.RawMessage(c.in))
		if c.err == "" && (err != nil || string(r.result) != c.want) {
			t.Errorf("%s is kept as %.60q, %v", c.name, r.result, err)
		}
		if c.err != "" && (!errors.Is(err, ErrInvalid) || err.Error() != c.err || string(r.result) != "1") {
			t.Errorf("%s: error %v, want %s; kept is %.60q", c.name, err, c.err, r.result)
		}
	}
}

func TestProgressThatCouldNotBeWrittenIsDueAgain(t *testing.T) {
	r := &report{}
	now := time.Now()
	r.Progress(0.5, "half")
	first := r.join(nil, 7, now)
	if len(first) != 1 || first[0].ID != 7 || *first[0].Progress != 0.5 || first[0].ProgressText != "half" || len(first[0].Output) != 0 {
		t.Fatalf("the first update is %+v", first)
	}
	if r.due(now.Add(time.Hour)) {
		t.Error("what was written is due again")
	}
	r.put()
	if !r.due(now.Add(progressEvery)) || r.due(now.Add(progressEvery/2)) {
		t.Error("what could not be written is due too early, or never")
	}
	output := []RunUpdate{{ID: 7, At: 3, Output: []byte("x")}, {ID: 7, At: 9, Output: []byte("y")}}
	if both := r.join(output, 7, now.Add(progressEvery)); len(both) != 2 || both[0].Progress == nil || both[1].Progress != nil {
		t.Errorf("beside output it is %+v", both)
	}
	if r.join(output, 7, now.Add(time.Hour)); r.due(now.Add(2 * time.Hour)) {
		t.Error("what did not change is due")
	}
	r.put() // of output alone
	if r.due(now.Add(3 * time.Hour)) {
		t.Error("what did not change is due after output could not be written")
	}
}
