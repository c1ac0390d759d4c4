package sqlstore

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
