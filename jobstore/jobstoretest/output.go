package jobstoretest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var outputRules = []rule{
	{name: "WriteRuns/bytes", check: outputBytes,
		law: "output is kept byte for byte, NUL and invalid UTF-8 as well, appended by every write, and OutputBytes counts it"},
	{name: "WriteRuns/fence", check: outputFence,
		law: "output is written only of a run that is still running and owned by owner; the ids of the others are returned as late"},
	{name: "WriteRuns/cap", check: outputCap,
		law: "of the whole output the first and the last half of the cap are kept, however it was cut into writes, and OutputBytes and OutputCut are set"},
	{name: "WriteRuns/default cap", check: outputDefaultCap,
		law: "the cap is 1 MiB by default"},
	{name: "WriteRuns/gap", check: outputGap,
		law: "RunUpdate.At may be past the stored end, where the instance dropped a middle part: offsets are those of the whole stream"},
	{name: "Output/parts", check: outputParts,
		law: "Output returns at most limit bytes from an offset on, and tells where they begin and whether the run has ended with nothing after them"},
	{name: "Output/not found", check: outputNotFound,
		law: "Output of a run that is not there is ErrNotFound; of one without output it is empty"},
}

func (p *probe) write(owner ruqi.Owner, id, at int64, data []byte) {
	late, err := p.WriteRuns(p.ctx, owner, []ruqi.RunUpdate{{ID: id, At: at, Output: bytes.Clone(data)}})
	p.must("write output", err)
	if len(late) > 0 {
		p.errorf("WriteRuns took %v for late, want none", late)
	}
}

// A stretch is what was kept from an offset on.
type stretch struct {
	at   int64
	data string
}

// read reads the whole output by parts, and joins those that touch.
func (p *probe) read(id int64, limit int, ended bool) []stretch {
	var all []stretch
	from := int64(0)
	for range 100_000 {
		part, err := p.Output(p.ctx, id, from, limit)
		p.must("output", err)
		if len(part.Bytes) > limit {
			p.fatalf("Output returned %d bytes, the limit was %d", len(part.Bytes), limit)
		}
		if part.At < from {
			p.fatalf("Output from %d begins at %d", from, part.At)
		}
		if len(part.Bytes) == 0 {
			equal(p, "Ended after the last byte", part.Ended, ended)
			return all
		}
		if n := len(all); n > 0 && part.At == from {
			all[n-1].data += string(part.Bytes)
		} else {
			all = append(all, stretch{part.At, string(part.Bytes)})
		}
		if part.Ended && !ended {
			p.errorf("Ended is told of a run that is not")
		}
		from = part.At + int64(len(part.Bytes))
	}
	p.fatalf("the output has no end")
	return nil
}

func (p *probe) wantOutput(what string, id int64, ended bool, want ...stretch) {
	for _, limit := range []int{1 << 20, 7} {
		got := p.read(id, limit, ended)
		if len(got) != len(want) {
			p.errorf("%s, read by %d: %d stretches, want %d", what, limit, len(got), len(want))
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				p.errorf("%s, read by %d: stretch %d is %s, want %s", what, limit, i, brief(got[i]), brief(want[i]))
			}
		}
	}
}

func brief(s stretch) string { return fmt.Sprintf("%d+%d %.40q", s.at, len(s.data), s.data) }

func outputBytes(p *probe) {
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	all = append(all, "\x00\x00\xff\xfe\xc3\x28\r\n日本🙂"...)
	at := 0
	for at < len(all) {
		n := min(len(all)-at, 1+at%5)
		p.write(owner, r.ID, int64(at), all[at:at+n])
		at += n
	}
	got := p.run(r.ID)
	equal(p, "OutputBytes", got.OutputBytes, int64(len(all)))
	equal(p, "OutputCut", got.OutputCut, false)
	p.wantOutput("the output while running", r.ID, false, stretch{0, string(all)})
	p.finish(owner, ended(r.ID, ruqi.RunSucceeded))
	p.wantOutput("the output after the end", r.ID, true, stretch{0, string(all)})
	equal(p, "OutputBytes after the end", p.run(r.ID).OutputBytes, int64(len(all)))
}

func outputFence(p *probe) {
	a, b := p.owner("a"), p.owner("b")
	mine, his := p.startOne(a, "mine"), p.startOne(b, "his")
	late, err := p.WriteRuns(p.ctx, a, []ruqi.RunUpdate{
		{ID: his.ID, Output: []byte("x")}, {ID: mine.ID, Output: []byte("one")}, {ID: mine.ID + 1000, Output: []byte("x")},
	})
	p.must("write", err)
	same(p, "late", late, []int64{his.ID, mine.ID + 1000})
	equal(p, "OutputBytes of another's run", p.run(his.ID).OutputBytes, 0)
	next := p.owner("a")
	late, err = p.WriteRuns(p.ctx, next, []ruqi.RunUpdate{{ID: mine.ID, At: 3, Output: []byte("x")}})
	p.must("write", err)
	same(p, "late for a later epoch", late, []int64{mine.ID})
	p.finish(a, ended(mine.ID, ruqi.RunSucceeded))
	late, err = p.WriteRuns(p.ctx, a, []ruqi.RunUpdate{{ID: mine.ID, At: 3, Output: []byte("x")}})
	p.must("write", err)
	same(p, "late after the end", late, []int64{mine.ID})
	p.wantOutput("the output", mine.ID, true, stretch{0, "one"})
	p.wantState("the run", mine.ID, ruqi.RunSucceeded)
}

func outputCap(p *probe) {
	const limit = 64
	p.capped(limit)
	owner := p.owner("a")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	for i, size := range []int{limit/2 - 1, limit / 2, limit - 1, limit, limit + 1, limit + 7, 3 * limit, 1000} {
		r := p.startOne(owner, fmt.Sprint("job", i))
		all := make([]byte, size)
		for i := range all {
			all[i] = byte(random.Uint32())
		}
		for at := 0; at < size; {
			n := min(size-at, 1+random.IntN(2*limit))
			p.write(owner, r.ID, int64(at), all[at:at+n])
			at += n
		}
		what := fmt.Sprintf("an output of %d bytes with a cap of %d (seed %d)", size, limit, seed)
		got := p.run(r.ID)
		equal(p, "OutputBytes of "+what, got.OutputBytes, int64(size))
		equal(p, "OutputCut of "+what, got.OutputCut, size > limit)
		if size <= limit {
			p.wantOutput(what, r.ID, false, stretch{0, string(all)})
		} else {
			p.wantOutput(what, r.ID, false, stretch{0, string(all[:limit/2])}, stretch{int64(size - limit/2), string(all[size-limit/2:])})
		}
	}
}

func outputDefaultCap(p *probe) {
	const half = 1 << 19
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	whole := bytes.Repeat([]byte("0123456789abcdef"), 2*half/16)
	p.write(owner, r.ID, 0, whole)
	equal(p, "OutputCut at 1 MiB", p.run(r.ID).OutputCut, false)
	part, err := p.Output(p.ctx, r.ID, 0, 10<<20)
	p.must("output", err)
	if len(part.Bytes) > 1<<20 {
		p.errorf("Output returned %d bytes at once, want at most 1 MiB", len(part.Bytes))
	}
	p.write(owner, r.ID, 2*half, []byte("END"))
	equal(p, "OutputCut at 1 MiB and 3 bytes", p.run(r.ID).OutputCut, true)
	got := p.read(r.ID, 1<<20, false)
	if len(got) != 2 || len(got[0].data) != half || got[1].at != half+3 || len(got[1].data) != half {
		p.errorf("the output is kept in %d stretches, want the first and the last 512 KiB", len(got))
	}
}

func outputGap(p *probe) {
	p.capped(64)
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	p.write(owner, r.ID, 0, []byte("0123456789"))
	p.write(owner, r.ID, 1000, []byte("abcdef"))
	got := p.run(r.ID)
	equal(p, "OutputBytes", got.OutputBytes, 1006)
	equal(p, "OutputCut", got.OutputCut, true)
	p.wantOutput("an output with a gap", r.ID, false, stretch{0, "0123456789"}, stretch{1000, "abcdef"})
	part, err := p.Output(p.ctx, r.ID, 500, 3)
	p.must("output", err)
	if part.At != 1000 || string(part.Bytes) != "abc" {
		p.errorf("Output from within the gap is %q at %d, want \"abc\" at 1000", part.Bytes, part.At)
	}
	p.write(owner, r.ID, 1006, []byte("g"))
	p.wantOutput("an output that goes on after a gap", r.ID, false, stretch{0, "0123456789"}, stretch{1000, "abcdefg"})
	p.write(owner, r.ID, 2000, bytes.Repeat([]byte("z"), 40))
	p.wantOutput("after a gap that leaves the middle behind", r.ID, false, stretch{0, "0123456789"}, stretch{2008, string(bytes.Repeat([]byte("z"), 32))})
}

func outputParts(p *probe) {
	owner := p.owner("a")
	r := p.startOne(owner, "job")
	part := func(from int64, limit int, at int64, want string, ended bool) {
		got, err := p.Output(p.ctx, r.ID, from, limit)
		p.must("output", err)
		if string(got.Bytes) != want || got.At != at || got.Ended != ended {
			p.errorf("Output from %d, limit %d, is %q at %d, ended %t; want %q at %d, %t", from, limit, got.Bytes, got.At, got.Ended, want, at, ended)
		}
	}
	part(0, 10, 0, "", false)
	p.write(owner, r.ID, 0, []byte("hello world"))
	part(0, 5, 0, "hello", false)
	part(6, 100, 6, "world", false)
	part(11, 5, 11, "", false)
	part(0, 0, 0, "h", false) // at least 1
	p.finish(owner, ended(r.ID, ruqi.RunSucceeded))
	part(0, 5, 0, "hello", false)
	part(6, 5, 6, "world", true)
	part(0, 100, 0, "hello world", true)
	part(11, 5, 11, "", true)
}

func outputNotFound(p *probe) {
	_, err := p.Output(p.ctx, 12345, 0, 10)
	p.wantErr("Output of a run that is not there", err, ruqi.ErrNotFound)
	p.addJob("job", idle)
	r := p.runNow("job", 1)[0]
	part, err := p.Output(p.ctx, r.ID, 0, 10)
	p.must("output of a queued run", err)
	if len(part.Bytes) > 0 || part.Ended {
		p.errorf("the output of a queued run is %q, ended %t", part.Bytes, part.Ended)
	}
	_, err = p.Cancel(p.ctx, r.ID, "ann")
	p.must("cancel", err)
	part, err = p.Output(p.ctx, r.ID, 0, 10)
	p.must("output of a run that never started", err)
	if len(part.Bytes) > 0 || !part.Ended {
		p.errorf("the output of a run that never started is %q, ended %t", part.Bytes, part.Ended)
	}
}
