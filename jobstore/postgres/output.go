package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const (
	// The ids come in their order, and so do the locks.
	sqlExtents = `SELECT r.id, coalesce(r.output_bytes, 0), coalesce(r.output_cut, false), coalesce(r.output_tail, 0), coalesce(c.at, 0), coalesce(c.length, -1)
	FROM unnest($1::bigint[]) v (id) CROSS JOIN LATERAL (SELECT * FROM rq_run n WHERE n.id = v.id AND n.state < 2 AND n.` + stateIs + ` 1
		AND n.instance = $2 AND n.epoch = $3 FOR NO KEY UPDATE) r
	LEFT JOIN LATERAL (SELECT o.at, octet_length(o.bytes) AS length FROM rq_output o WHERE o.run_id = r.id ORDER BY o.at DESC LIMIT 1) c ON true`
	sqlSetExtent   = `UPDATE rq_run SET output_bytes = $2, output_cut = $3, output_tail = $4 WHERE id = $1 AND state < 2`
	sqlSetProgress = `UPDATE rq_run SET progress = $2, progress_text = $3 WHERE id = $1 AND state < 2`
	sqlPutChunk    = `INSERT INTO rq_output (run_id, at, bytes) VALUES ($1, $2, $3)`
	sqlAppendChunk = `UPDATE rq_output SET bytes = bytes || $3 WHERE run_id = $1 AND at = $2`
	sqlDropChunks  = `DELETE FROM rq_output WHERE run_id = $1 AND at >= $2 AND at < $3 AND at + octet_length(bytes) <= $3`
)

// An outputEnd is where the output of a run ends.
type outputEnd struct {
	sqlstore.Extent
	last sqlstore.Chunk
}

// WriteRuns appends output to running runs and says how far they are, as ruqi.JobStore says.
func (s *Store) WriteRuns(ctx context.Context, owner ruqi.Owner, updates []ruqi.RunUpdate) (late []int64, err error) {
	if len(updates) == 0 {
		return nil, ctx.Err()
	}
	ids := make([]int64, len(updates))
	for i := range updates {
		ids[i] = updates[i].ID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	err = s.write(ctx, s.engine, "write runs", func(st *step) error {
		late = nil
		known := map[int64]*outputEnd{}
		err := st.start(func(b *pgx.Batch) {
			queue(b, sqlExtents, []any{ids, owner.Instance, owner.Epoch}, func(rows pgx.Rows) error {
				var id int64
				e := &outputEnd{}
				err := rows.Scan(&id, &e.Bytes, &e.Cut, &e.Tail, &e.last.At, &e.last.Length)
				known[id] = e
				return err
			})
		})
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		for i := range updates {
			e := known[updates[i].ID]
			if e == nil {
				late = append(late, updates[i].ID)
				continue
			}
			e.queue(b, &updates[i], s.cap)
		}
		return st.commit(b)
	})
	if err != nil {
		return nil, err
	}
	return late, nil
}

// queue queues the writing of one update.
func (e *outputEnd) queue(b *pgx.Batch, update *ruqi.RunUpdate, limit int64) {
	if update.Progress != nil {
		b.Queue(sqlSetProgress, update.ID, *update.Progress, orNil(textOf(update.ProgressText)))
	}
	if len(update.Output) > 0 {
		e.append(b, update, limit)
	}
}

func (e *outputEnd) append(b *pgx.Batch, update *ruqi.RunUpdate, limit int64) {
	old := e.Extent
	extent, pieces := old.Append(limit, update.At, update.Output)
	if extent == old {
		return
	}
	e.Extent = extent
	for _, piece := range pieces {
		e.put(b, update.ID, limit/2, piece)
	}
	b.Queue(sqlSetExtent, update.ID, extent.Bytes, extent.Cut, extent.Tail)
	if extent.Tail > old.Tail {
		b.Queue(sqlDropChunks, update.ID, limit/2, extent.Tail)
		if e.last.At >= limit/2 && e.last.At+e.last.Length <= extent.Tail {
			e.last.Length = -1 // it went with the middle
		}
	}
}

// put queues a stretch of output in chunks.
func (e *outputEnd) put(b *pgx.Batch, run, half int64, piece sqlstore.Piece) {
	if piece.Joins(e.last, half) {
		b.Queue(sqlAppendChunk, run, e.last.At, piece.Bytes)
		e.last.Length += int64(len(piece.Bytes))
		return
	}
	for chunk := range piece.Chunks {
		b.Queue(sqlPutChunk, run, chunk.At, chunk.Bytes)
		e.last = sqlstore.Chunk{At: chunk.At, Length: int64(len(chunk.Bytes))}
	}
}

const (
	sqlOutputRun = `SELECT state, coalesce(output_tail, 0) FROM rq_run WHERE id = $1`
	// The chunks from the one that holds an offset on.
	sqlChunks = `SELECT at, bytes FROM rq_output WHERE run_id = $1
	AND at >= coalesce((SELECT max(o.at) FROM rq_output o WHERE o.run_id = $1 AND o.at <= $2), 0) ORDER BY at LIMIT $3`
)

// Output returns a stretch of a run's output, as ruqi.JobStore says.
func (s *Store) Output(ctx context.Context, run int64, from int64, limit int) (part ruqi.OutputPart, err error) {
	var page *sqlstore.Page
	found := false
	var state int16
	var tail, read, chunks int64
	err = s.read(ctx, "output", func(b *pgx.Batch) {
		page, read, found = sqlstore.NewPage(from, limit), 0, false
		chunks = page.MostChunks()
		queue(b, sqlOutputRun, []any{run}, func(rows pgx.Rows) error {
			found = true
			return rows.Scan(&state, &tail)
		})
		queue(b, sqlChunks, []any{run, page.From(), chunks}, func(rows pgx.Rows) error {
			read++
			var chunk sqlstore.Piece
			err := rows.Scan(&chunk.At, &chunk.Bytes)
			if err == nil {
				page.Add(chunk, tail)
			}
			return err
		})
	})
	if err != nil {
		return ruqi.OutputPart{}, err
	}
	if !found {
		return ruqi.OutputPart{}, fmt.Errorf("output: run %d: %w", run, ruqi.ErrNotFound)
	}
	page.Part.Ended = state > sqlstore.CodeRunning && !page.More && read < chunks
	return page.Part, nil
}
