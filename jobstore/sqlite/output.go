package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
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

// WriteRuns appends output to running runs and says how far they are, as ruqi.JobStore says.
func (s *Store) WriteRuns(ctx context.Context, owner ruqi.Owner, updates []ruqi.RunUpdate) (late []int64, err error) {
	if len(updates) == 0 {
		return nil, ctx.Err()
	}
	err = s.write(ctx, "write runs", func(st *step) error {
		late = nil
		for i := range updates {
			written, err := st.update(owner, &updates[i], s.cap)
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

// update reports false when the run is not running for the owner.
func (st *step) update(owner ruqi.Owner, update *ruqi.RunUpdate, limit int64) (bool, error) {
	var old sqlstore.Extent
	found, err := st.one(sqlExtent, []any{update.ID, owner.Instance, owner.Epoch}, func(r row) {
		old = sqlstore.Extent{Bytes: r.int(0), Cut: r.int(1) != 0, Tail: r.int(2)}
	})
	if err != nil || !found {
		return false, err
	}
	if update.Progress != nil {
		if _, err := st.exec(sqlSay, update.ID, nil, *update.Progress, update.ProgressText); err != nil {
			return false, err
		}
	}
	if len(update.Output) > 0 {
		err = st.appendOutput(update, old, limit)
	}
	return true, err
}

func (st *step) appendOutput(update *ruqi.RunUpdate, old sqlstore.Extent, limit int64) error {
	extent, pieces := old.Append(limit, update.At, update.Output)
	if extent == old {
		return nil
	}
	for _, piece := range pieces {
		if err := st.putPiece(update.ID, limit/2, piece); err != nil {
			return err
		}
	}
	cut := 0
	if extent.Cut {
		cut = 1
	}
	_, err := st.exec(sqlSetExtent, update.ID, extent.Bytes, cut, extent.Tail)
	if err == nil && extent.Tail > old.Tail {
		_, err = st.exec(sqlDropChunks, update.ID, limit/2, extent.Tail)
	}
	return err
}

// putPiece stores a stretch of output in chunks.
func (st *step) putPiece(run, half int64, piece sqlstore.Piece) error {
	if len(piece.Bytes) < sqlstore.SmallChunk { // else it joins none
		last := sqlstore.Chunk{Length: -1}
		if _, err := st.one(sqlLastChunk, []any{run}, func(r row) { last = sqlstore.Chunk{At: r.int(0), Length: r.int(1)} }); err != nil {
			return err
		}
		if piece.Joins(last, half) {
			var before []byte
			if _, err := st.one(sqlChunk, []any{run, last.At}, func(r row) { before = r.bytes(0) }); err != nil {
				return err
			}
			piece = sqlstore.Piece{At: last.At, Bytes: slices.Concat(before, piece.Bytes)}
		}
	}
	for chunk := range piece.Chunks {
		if _, err := st.exec(sqlPutChunk, run, chunk.At, chunk.Bytes); err != nil {
			return err
		}
	}
	return nil
}

const sqlOutputRun = `SELECT r.state, m.output_tail FROM rq_run r` + runMore + ` WHERE r.id = ?`

// The chunks from the one that holds an offset on.
const sqlChunks = `SELECT at, bytes FROM rq_output
	WHERE run_id = ?1 AND at >= ifnull((SELECT max(at) FROM rq_output WHERE run_id = ?1 AND at <= ?2), 0) ORDER BY at`

// Output returns a stretch of a run's output, as ruqi.JobStore says.
func (s *Store) Output(ctx context.Context, run int64, from int64, limit int) (part ruqi.OutputPart, err error) {
	err = s.read(ctx, "output", func(c *conn) error {
		page := sqlstore.NewPage(from, limit)
		var state, tail int64
		found, err := c.one(sqlOutputRun, []any{run}, func(r row) { state, tail = r.int(0), r.int(1) })
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("run %d: %w", run, ruqi.ErrNotFound)
		}
		err = c.query(sqlChunks, []any{run, page.From()}, func(r row) error {
			if !page.Add(sqlstore.Piece{At: r.int(0), Bytes: r.bytes(1)}, tail) {
				return errStop
			}
			return nil
		})
		page.Part.Ended = state > sqlstore.CodeRunning && !page.More
		part = page.Part
		return err
	})
	if err != nil {
		return ruqi.OutputPart{}, err
	}
	return part, nil
}
