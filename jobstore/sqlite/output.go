package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const (
	// A chunk is one row of output. Small writes are gathered into rows of up to
	// smallChunk; large ones are cut into rows of largeChunk, so that little is
	// kept beyond the cap and little is read for a page.
	smallChunk = 4 << 10  // bytes; one page of the file
	largeChunk = 16 << 10 // bytes
	// maxPart is the most that Output returns at once: 1 MiB, as ruqi.JobStore says.
	maxPart = 1 << 20
)

const sqlExtent = `SELECT m.output_bytes, m.output_cut, m.output_tail FROM rq_run r` + runMore + `
	WHERE r.id = ? AND state = 1 AND instance = ? AND epoch = ?`
const sqlSetExtent = `INSERT INTO rq_run_more (run_id, output_bytes, output_cut, output_tail) VALUES (?, ?, ?, ?)
	ON CONFLICT (run_id) DO UPDATE SET output_bytes = excluded.output_bytes, output_cut = excluded.output_cut, output_tail = excluded.output_tail`
const sqlLastChunk = `SELECT at, length(bytes) FROM rq_output WHERE run_id = ? ORDER BY at DESC LIMIT 1`
const sqlChunk = `SELECT bytes FROM rq_output WHERE run_id = ? AND at = ?`
const sqlPutChunk = `INSERT INTO rq_output (run_id, at, bytes) VALUES (?, ?, ?)
	ON CONFLICT (run_id, at) DO UPDATE SET bytes = excluded.bytes`
const sqlDropChunks = `DELETE FROM rq_output WHERE run_id = ?1 AND at >= ?2 AND at < ?3 AND at + length(bytes) <= ?3`

// WriteRuns appends output to running runs, as ruqi.JobStore says.
func (s *Store) WriteRuns(ctx context.Context, owner ruqi.Owner, updates []ruqi.RunUpdate) (late []int64, err error) {
	if len(updates) == 0 {
		return nil, ctx.Err()
	}
	err = s.write(ctx, "write runs", func(st *step) error {
		late = nil
		for i := range updates {
			written, err := st.appendOutput(owner, &updates[i], s.cap)
			if err != nil {
				return fmt.Errorf("run %d: %w", updates[i].ID, err)
			}
			if !written {
				late = append(late, updates[i].ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return late, nil
}

// appendOutput reports false when the run is not running for the owner.
func (st *step) appendOutput(owner ruqi.Owner, update *ruqi.RunUpdate, limit int64) (bool, error) {
	var old sqlstore.Extent
	found, err := st.one(sqlExtent, []any{update.ID, owner.Instance, owner.Epoch}, func(r row) {
		old = sqlstore.Extent{Bytes: r.int(0), Cut: r.int(1) != 0, Tail: r.int(2)}
	})
	if err != nil || !found {
		return false, err
	}
	extent, pieces := old.Append(limit, update.At, update.Output)
	if extent == old {
		return true, nil
	}
	for _, piece := range pieces {
		if err := st.putPiece(update.ID, limit/2, piece); err != nil {
			return false, err
		}
	}
	cut := 0
	if extent.Cut {
		cut = 1
	}
	if _, err := st.exec(sqlSetExtent, update.ID, extent.Bytes, cut, extent.Tail); err != nil {
		return false, err
	}
	if extent.Tail > old.Tail {
		_, err = st.exec(sqlDropChunks, update.ID, limit/2, extent.Tail)
	}
	return true, err
}

// putPiece stores a stretch of output in chunks. A small one joins the chunk before
// it where that is small, belongs to the same half and ends where it begins.
func (st *step) putPiece(run, half int64, piece sqlstore.Piece) error {
	at, data := piece.At, piece.Bytes
	if len(data) < smallChunk {
		var last, length int64
		found, err := st.one(sqlLastChunk, []any{run}, func(r row) { last, length = r.int(0), r.int(1) })
		if err != nil {
			return err
		}
		if found && last+length == at && length+int64(len(data)) <= smallChunk && (last < half) == (at < half) {
			var before []byte
			if _, err := st.one(sqlChunk, []any{run, last}, func(r row) { before = r.bytes(0) }); err != nil {
				return err
			}
			at, data = last, slices.Concat(before, data)
		}
	}
	for chunk := range slices.Chunk(data, largeChunk) {
		if _, err := st.exec(sqlPutChunk, run, at, chunk); err != nil {
			return err
		}
		at += int64(len(chunk))
	}
	return nil
}

const sqlOutputRun = `SELECT r.state, m.output_tail FROM rq_run r` + runMore + ` WHERE r.id = ?`

// The chunks from the one that holds an offset on.
const sqlChunks = `SELECT at, bytes FROM rq_output
	WHERE run_id = ?1 AND at >= ifnull((SELECT max(at) FROM rq_output WHERE run_id = ?1 AND at <= ?2), 0) ORDER BY at`

// Output returns a stretch of a run's output, as ruqi.JobStore says.
func (s *Store) Output(ctx context.Context, run int64, from int64, limit int) (part ruqi.OutputPart, err error) {
	from = max(from, 0)
	most := int64(min(max(limit, 1), maxPart))
	err = s.read(ctx, "output", func(c *conn) error {
		part = ruqi.OutputPart{At: from}
		var state, tail int64
		found, err := c.one(sqlOutputRun, []any{run}, func(r row) { state, tail = r.int(0), r.int(1) })
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("run %d: %w", run, ruqi.ErrNotFound)
		}
		more := false
		err = c.query(sqlChunks, []any{run, from}, func(r row) error {
			at, data := r.int(0), r.bytes(1)
			// The first chunk of the tail may begin before the kept part; those of the first half never reach over it.
			if at+int64(len(data)) > tail && at < tail {
				data, at = data[tail-at:], tail
			}
			if skip := from - at; skip > 0 {
				data, at = data[min(skip, int64(len(data))):], at+min(skip, int64(len(data)))
			}
			if len(data) == 0 {
				return nil
			}
			switch {
			case len(part.Bytes) == 0:
				part.At = at
			case part.At+int64(len(part.Bytes)) != at || int64(len(part.Bytes)) == most:
				more = true
				return errStop
			}
			if room := most - int64(len(part.Bytes)); int64(len(data)) > room {
				data, more = data[:room], true
			}
			part.Bytes = append(part.Bytes, data...)
			if more {
				return errStop
			}
			return nil
		})
		part.Ended = state > sqlstore.CodeRunning && !more
		return err
	})
	if err != nil {
		return ruqi.OutputPart{}, err
	}
	return part, nil
}
