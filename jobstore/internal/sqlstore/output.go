package sqlstore

import (
	"slices"

	"github.com/ruqi-dev/ruqi"
)

// An Extent says how much output a run has and which part of it is kept.
type Extent struct {
	// Bytes is the length of the whole stream so far.
	Bytes int64
	// Cut says that something between the first and the last byte is not kept.
	Cut bool
	// Tail is the offset at which the kept last part begins; 0 while nothing had to go.
	Tail int64
}

// A Piece is a stretch of output to keep. Pieces never reach over the end of
// the first half of the cap, so a piece belongs to one half as a whole.
type Piece struct {
	At    int64
	Bytes []byte
}

// Append places data, whose first byte has the offset at, behind the output so
// far, when the first and the last half of limit bytes are kept. What was stored before
// from half to below the returned Tail may go.
func (e Extent) Append(limit, at int64, data []byte) (Extent, []Piece) {
	half := limit / 2
	if at < e.Bytes { // a repeated write: its beginning is there already
		skip := min(e.Bytes-at, int64(len(data)))
		data, at = data[skip:], at+skip
		if at < e.Bytes {
			return e, nil
		}
	}
	if at > e.Bytes {
		e.Cut = true
	}
	e.Bytes = at + int64(len(data))
	if tail := e.Bytes - (limit - half); tail > half {
		e.Tail, e.Cut = max(e.Tail, tail), true
	}
	var pieces []Piece
	if n := min(int64(len(data)), half-at); n > 0 {
		pieces = append(pieces, Piece{At: at, Bytes: data[:n]})
		data, at = data[n:], at+n
	}
	if skip := min(e.Tail-at, int64(len(data))); skip > 0 {
		data, at = data[skip:], at+skip
	}
	if len(data) > 0 {
		pieces = append(pieces, Piece{At: at, Bytes: data})
	}
	return e, pieces
}

const (
	// A chunk is one row of output. Small writes are gathered into rows of up to
	// SmallChunk; large ones are cut into rows of LargeChunk, so that little is
	// kept beyond the cap and little is read for a page.
	SmallChunk = 4 << 10  // bytes; one page of an SQLite file, half a page of PostgreSQL
	LargeChunk = 16 << 10 // bytes
	// maxPart is the most that is returned at once: 1 MiB, as ruqi.JobStore says.
	maxPart = 1 << 20
)

// A Chunk is a row of output without its bytes. One of the length -1 is none.
type Chunk struct {
	At, Length int64
}

// Joins reports whether the piece joins the last chunk of a run: it begins where that ends, in the same half, and both are small.
func (p Piece) Joins(last Chunk, half int64) bool {
	return last.Length >= 0 && last.At+last.Length == p.At && last.Length+int64(len(p.Bytes)) <= SmallChunk && (last.At < half) == (p.At < half)
}

// Chunks yields the piece in rows of its own.
func (p Piece) Chunks(yield func(Piece) bool) {
	at := p.At
	for chunk := range slices.Chunk(p.Bytes, LargeChunk) {
		if !yield(Piece{At: at, Bytes: chunk}) {
			return
		}
		at += int64(len(chunk))
	}
}

// A Page gathers a stretch of output from its chunks.
type Page struct {
	// Part is what was gathered so far.
	Part ruqi.OutputPart
	// More says that there is more than fits, or than belongs to one stretch.
	More bool

	from, most int64
}

// NewPage begins a page of output from an offset on, of at most so many bytes.
func NewPage(from int64, limit int) *Page {
	from = max(from, 0)
	return &Page{Part: ruqi.OutputPart{At: from}, from: from, most: int64(min(max(limit, 1), maxPart))}
}

// From is the offset at which the page may begin.
func (p *Page) From() int64 { return p.from }

// MostChunks is how many chunks hold all that a page may have.
func (p *Page) MostChunks() int64 { return p.most/SmallChunk + 2 } // the first and the last may give little

// Add takes what the next chunk has, where the kept last part of the output begins at tail, and reports whether another is wanted.
func (p *Page) Add(chunk Piece, tail int64) bool {
	at, data := chunk.At, chunk.Bytes
	// The first chunk of the tail may begin before the kept part; those of the first half never reach over it.
	if at+int64(len(data)) > tail && at < tail {
		data, at = data[tail-at:], tail
	}
	if skip := min(p.from-at, int64(len(data))); skip > 0 {
		data, at = data[skip:], at+skip
	}
	held := int64(len(p.Part.Bytes))
	switch {
	case p.More || len(data) == 0:
		return !p.More
	case held == 0:
		p.Part.At = at
	case p.Part.At+held != at || held == p.most:
		p.More = true
		return false
	}
	if room := p.most - held; int64(len(data)) > room {
		data, p.More = data[:room], true
	}
	p.Part.Bytes = append(p.Part.Bytes, data...)
	return !p.More
}
