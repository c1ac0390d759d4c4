package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
)

// A listener notes what it is told, and takes no result that is not JSON.
type listener struct{ heard []string }

func (l *listener) Progress(fraction float64, text string) {
	l.heard = append(l.heard, fmt.Sprintf("%v %q", fraction, text))
}

func (l *listener) SetResult(value json.RawMessage) error {
	if !json.Valid(value) {
		return ruqi.Invalid("", "", "not JSON")
	}
	l.heard = append(l.heard, string(value))
	return nil
}

// listen writes a stream in pieces of so many bytes, and returns what was heard and what was noted.
func listen(t testing.TB, stream string, piece func() int) (heard []string, note string) {
	t.Helper()
	var out bytes.Buffer
	l := &listener{}
	execution := ruqi.Execution{Output: &out, Reporter: l}
	s := hear(&execution)
	for rest := stream; len(rest) > 0; {
		n := min(max(piece(), 1), len(rest))
		if wrote, err := execution.Output.Write([]byte(rest[:n])); wrote != n || err != nil {
			t.Fatalf("wrote %d of %d, %v", wrote, n, err)
		}
		rest = rest[n:]
	}
	result := ruqi.Result{}
	s.end(&result)
	if out.String() != stream {
		t.Fatalf("the output is not what was written: %d of %d bytes", out.Len(), len(stream))
	}
	if cap(s.held) > 4*mostSaid {
		t.Fatalf("%d bytes are held", cap(s.held))
	}
	return l.heard, result.Note
}

func TestLinesThatTellOfTheRun(t *testing.T) {
	const (
		neither = "a line that begins with ::ruqi says neither progress nor result"
		number  = "a line ::ruqi progress has no number"
		long    = "a line that begins with ::ruqi is too long"
		invalid = "a result was not taken: not JSON"
	)
	largest := `"` + strings.Repeat("x", ruqi.MaxResult-2) + `"`
	cases := []struct {
		name, stream string
		want         []string
		note         string
	}{
		{"a progress and a result", "::ruqi progress 0.4 page 4 of 10\n::ruqi result {\"a\": 1}\n", []string{`0.4 "page 4 of 10"`, `{"a": 1}`}, ""},
		{"among other lines", "hello\n\n::ruqi progress 1\nbye\n", []string{`1 ""`}, ""},
		{"the last line without a newline", "x\n::ruqi result 5", []string{"5"}, ""},
		{"the only line without a newline", "::ruqi progress .5", []string{`0.5 ""`}, ""},
		{"lines that end with CR LF", "a\r\n::ruqi progress 0.5 half\r\n::ruqi result [1]\r\n", []string{`0.5 "half"`, "[1]"}, ""},
		{"blanks and tabs between the words", "::ruqi   progress\t 0.5 \t a  b \n", []string{`0.5 "a  b"`}, ""},
		{"many results", "::ruqi result 1\n::ruqi result 2\n::ruqi result null\n", []string{"1", "2", "null"}, ""},
		{"not at the beginning of a line", " ::ruqi progress 1\nx::ruqi progress 1\n:::ruqi progress 1\r::ruqi progress 1\n", nil, ""},
		{"nearly the word", "::ruqi\n::ruqi\tprogress 1\n::RUQI progress 1\n::ruq\n:\n::", nil, ""},
		{"words that mean nothing", "::ruqi \n::ruqi progression 1\n::ruqi progress 1\n", []string{`1 ""`}, neither},
		{"no number", "::ruqi progress\n::ruqi progress half\n::ruqi progress 0,5\n::ruqi progress 40%\n::ruqi progress 0.5\n", []string{`0.5 ""`}, number},
		{"numbers that are none of a fraction", "::ruqi progress NaN\n::ruqi progress -1\n::ruqi progress 40\n", []string{`NaN ""`, `-1 ""`, `40 ""`}, ""},
		{"no JSON, then another", "::ruqi result {a}\n::ruqi result\n::ruqi result 1\n", []string{"1"}, invalid},
		{"only the first fault is noted", "::ruqi result {a}\n::ruqi progress\n", nil, invalid},
		{"the largest result", "::ruqi result " + largest + "\n", []string{largest}, ""},
		{"a line as long as may be", "::ruqi result " + strings.Repeat(" ", mostSaid-15) + "1\n", []string{"1"}, ""},
		{"a line that is too long", "::ruqi result " + strings.Repeat(" ", mostSaid-14) + "1\n::ruqi result 2\n", []string{"2"}, long},
		{"a last line that is too long", "::ruqi result " + strings.Repeat(" ", mostSaid), nil, long},
		{"a long line that is none of them", "::ru" + strings.Repeat("x", 3*mostSaid) + "\n::ruqi result 1", []string{"1"}, ""},
		{"bytes that are no text", "\x00\xff\n::ruqi progress 0.5 \xff\x00\x1b[31m\n", []string{`0.5 "\xff\x00\x1b[31m"`}, ""},
		{"nothing", "", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 7, 8, 64, 1000, 64 << 10, 1 << 20} {
				heard, note := listen(t, c.stream, func() int { return size })
				if !slices.Equal(heard, c.want) || note != c.note {
					t.Fatalf("in pieces of %d bytes it hears %.200q and notes %q, want %.200q and %q", size, heard, note, c.want, c.note)
				}
			}
		})
	}
}

// whole is what a stream tells, read line by line.
func whole(stream string) (heard []string) {
	l := &listener{}
	s := &said{out: io.Discard, to: l}
	for line := range strings.SplitSeq(stream, "\n") {
		if len(line) <= mostSaid {
			s.line([]byte(line))
		}
	}
	return l.heard
}

func FuzzLinesThatTellOfTheRun(f *testing.F) {
	f.Add([]byte("a\n::ruqi progress 0.5 b\r\n::ruqi result [1]"), uint64(1))
	f.Add([]byte("\n\n::ruqi \n::ruqi::ruqi result\n::ruq"), uint64(2))
	f.Add([]byte(":::ruqi result 1\n\x00::ruqi result 2\n::ruqi result 3"), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		heard, _ := listen(t, string(stream), func() int { return 1 + random.IntN(20) })
		if want := whole(string(stream)); !slices.Equal(heard, want) {
			t.Fatalf("it hears %q, want %q (seed %d)", heard, want, seed)
		}
	})
}

func TestLinesAreHeardHoweverTheyAreCut(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	parts := []string{"::ruqi ", "progress ", "result ", "0.5", " text", "[1]", "\n", "\n", "\r\n", ":", "::", "x", "\n::ruqi progress 1 ", "\n::ruqi result 2\n"}
	for range 2000 {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		heard, _ := listen(t, b.String(), func() int { return 1 + random.IntN(12) })
		if want := whole(b.String()); !slices.Equal(heard, want) {
			t.Fatalf("of %q it hears %q, want %q (seed %d)", b.String(), heard, want, seed)
		}
	}
}

func TestWithoutAReporterNothingIsLookedFor(t *testing.T) {
	execution := ruqi.Execution{Output: io.Discard}
	if s := hear(&execution); s != nil || execution.Output != io.Discard {
		t.Errorf("it listens: %v", s)
	}
	result := ruqi.Result{Note: "as it was"}
	(*said)(nil).end(&result)
	if result.Note != "as it was" {
		t.Errorf("the note is %q", result.Note)
	}
}

// BenchmarkLines tells what looking for the lines costs beside handing the bytes on.
func BenchmarkLines(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"short lines", "line\n"},
		{"empty lines", "\n"},
		{"lines of a log", "2026-11-30T02:29:52Z INFO worker: item done id=4711 took=12ms queue=default\n"},
		{"lines that begin with colons", "::error file=a.go::broken\n"},
		{"progress", "::ruqi progress 0.5 half of it\n"},
	} {
		chunk := []byte(strings.Repeat(c.line, (64<<10)/len(c.line)))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(chunk)))
			s := &said{out: io.Discard, to: &silent{}}
			for b.Loop() {
				s.look(chunk)
			}
		})
	}
}

type silent struct{}

func (silent) Progress(float64, string)        {}
func (silent) SetResult(json.RawMessage) error { return nil }
