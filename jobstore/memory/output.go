package memory

import (
	"context"
	"slices"

	"github.com/ruqi-dev/ruqi"
)

const (
	// chunkSize bounds a chunk: what is trimmed from a tail holds no more memory than this.
	chunkSize = 64 << 10
	// maxPart is the most that Output returns at once, as ruqi.JobStore says.
	maxPart = 1 << 20
)

// An output is what is kept of a run's stream: of its first end bytes those before
// half, and those of the last half. Both may have gaps where the instance dropped some.
type output struct {
	end  int64 // length of the whole stream
	kept int64
	head []chunk
	tail []chunk
}

// A chunk is a stretch of a stream.
type chunk struct {
	at   int64
	data []byte
}

func (c chunk) end() int64 { return c.at + int64(len(c.data)) }

func (o *output) cut() bool { return o.kept < o.end }

// write appends data at an offset. What lies before the end was written already and is passed over.
func (o *output) write(at int64, data []byte, limit int64) {
	if at < o.end {
		data = data[min(o.end-at, int64(len(data))):]
		at = o.end
	}
	if len(data) == 0 {
		return
	}
	o.end = at + int64(len(data))
	half := limit / 2
	if at < half {
		n := min(half-at, int64(len(data)))
		o.head = extend(o.head, at, data[:n])
		o.kept += n
		at, data = at+n, data[n:]
	}
	rest := limit - half
	if skip := o.end - rest - at; skip > 0 && skip < int64(len(data)) {
		at, data = at+skip, data[skip:] // it would be trimmed at once
	}
	o.tail = extend(o.tail, at, data)
	o.kept += int64(len(data))
	o.trim(o.end - rest)
}

// trim drops what the tail holds before an offset.
func (o *output) trim(from int64) {
	gone := 0
	for gone < len(o.tail) && o.tail[gone].end() <= from {
		o.kept -= int64(len(o.tail[gone].data))
		o.tail[gone] = chunk{}
		gone++
	}
	o.tail = o.tail[gone:]
	if len(o.tail) > 0 && o.tail[0].at < from {
		first := &o.tail[0]
		n := from - first.at
		first.at, first.data = from, first.data[n:]
		o.kept -= n
	}
}

// extend appends data at an offset no earlier than the end of the last chunk.
func extend(chunks []chunk, at int64, data []byte) []chunk {
	for len(data) > 0 {
		n := len(chunks)
		if n == 0 || chunks[n-1].end() != at || len(chunks[n-1].data) >= chunkSize {
			chunks = append(chunks, chunk{at: at})
			n++
		}
		last := &chunks[n-1]
		some := min(chunkSize-len(last.data), len(data))
		last.data = append(last.data, data[:some]...)
		at, data = at+int64(some), data[some:]
	}
	return chunks
}

// read returns a stretch from an offset on, and where it begins.
func (o *output) read(from int64, limit int) ([]byte, int64) {
	var out []byte
	at := from
	for _, list := range [2][]chunk{o.head, o.tail} {
		// Chunks are in order: those that end before the offset are found by halves.
		first, _ := slices.BinarySearchFunc(list, from, func(c chunk, from int64) int {
			if c.end() <= from {
				return -1
			}
			return 1
		})
		for _, c := range list[first:] {
			if len(out) == 0 {
				at = max(from, c.at)
			} else if c.at != at+int64(len(out)) || len(out) == limit {
				return out, at
			}
			data := c.data[at+int64(len(out))-c.at:]
			out = append(out, data[:min(len(data), limit-len(out))]...)
		}
	}
	return out, at
}

// WriteRuns appends output to running runs and says how far they are, as ruqi.JobStore says. A late part leaves no note:
// it says nothing of how the run ended.
func (s *Store) WriteRuns(ctx context.Context, owner ruqi.Owner, updates []ruqi.RunUpdate) (late []int64, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for i := range updates {
		u := &updates[i]
		r := s.rows.find(u.ID)
		if r == nil || !s.owns(owner, r) {
			late = append(late, u.ID)
			continue
		}
		s.setProgress(r, u.Progress, u.ProgressText)
		if len(u.Output) == 0 {
			continue
		}
		m := s.rows.more(r)
		if m.output == nil {
			m.output = new(output)
		}
		m.output.write(u.At, u.Output, s.outputCap)
	}
	return late, nil
}

// Output returns a stretch of a run's output, as ruqi.JobStore says.
func (s *Store) Output(ctx context.Context, id int64, from int64, limit int) (ruqi.OutputPart, error) {
	if _, err := s.begin(ctx); err != nil {
		return ruqi.OutputPart{}, err
	}
	defer s.mu.Unlock()
	r := s.rows.find(id)
	if r == nil {
		return ruqi.OutputPart{}, ruqi.ErrNotFound
	}
	part := ruqi.OutputPart{At: max(from, 0)}
	end := int64(0)
	if m := s.rows.rest(r); m != nil && m.output != nil {
		o := m.output
		part.Bytes, part.At = o.read(part.At, min(max(limit, 1), maxPart))
		end = o.end // the last byte written is always kept
	}
	part.Ended = r.state.ended() && part.At+int64(len(part.Bytes)) >= end
	return part, nil
}
