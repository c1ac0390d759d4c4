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
	// A chunk is one row of output. Small writes are gathered into rows of up to
	// smallChunk; large ones are cut into rows of largeChunk, so that little is
	// kept beyond the cap and little is read for a page.
	smallChunk = 4 << 10  // bytes; half a page of the server
	largeChunk = 16 << 10 // bytes
	// maxPart is the most that Output returns at once: 1 MiB, as ruqi.JobStore says.
	maxPart = 1 << 20
)

const (
	sqlExtents = `SELECT r.id, coalesce(r.output_bytes, 0), coalesce(r.output_cut, false), coalesce(r.output_tail, 0), coalesce(c.at, 0), coalesce(c.length, -1)
	FROM unnest($1::bigint[]) v (id) CROSS JOIN rq_run r
	LEFT JOIN LATERAL (SELECT o.at, octet_length(o.bytes) AS length FROM rq_output o WHERE o.run_id = r.id ORDER BY o.at DESC LIMIT 1) c ON true
	WHERE r.id = v.id AND r.` + stateIs + ` 1 AND r.instance = $2 AND r.epoch = $3 ORDER BY r.id FOR NO KEY UPDATE OF r`
	sqlSetExtent   = `UPDATE rq_run SET output_bytes = $2, output_cut = $3, output_tail = $4 WHERE id = $1`
	sqlPutChunk    = `INSERT INTO rq_output (run_id, at, bytes) VALUES ($1, $2, $3)`
	sqlAppendChunk = `UPDATE rq_output SET bytes = bytes || $3 WHERE run_id = $1 AND at = $2`
	sqlDropChunks  = `DELETE FROM rq_output WHERE run_id = $1 AND at >= $2 AND at < $3 AND at + octet_length(bytes) <= $3`
)

// An outputEnd is where the output of a run ends.
type outputEnd struct {
	sqlstore.Extent
	// last and length are those of the last chunk; -1: there is none.
	last, length int64
}

// WriteRuns appends output to running runs, as ruqi.JobStore says.
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
				err := rows.Scan(&id, &e.Bytes, &e.Cut, &e.Tail, &e.last, &e.length)
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
			e.append(b, &updates[i], s.cap)
		}
		return st.commit(b)
	})
	if err != nil {
		return nil, err
	}
	return late, nil
}

// append queues the writing of one update.
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
		if e.last >= limit/2 && e.last+e.length <= extent.Tail {
			e.length = -1 // it went with the middle
		}
	}
}

// put queues a stretch of output in chunks. A small one joins the chunk before
// it where that is small, belongs to the same half and ends where it begins.
func (e *outputEnd) put(b *pgx.Batch, run, half int64, piece sqlstore.Piece) {
	at, data := piece.At, piece.Bytes
	size := int64(len(data))
	if e.length >= 0 && e.last+e.length == at && e.length+size <= smallChunk && (e.last < half) == (at < half) {
		b.Queue(sqlAppendChunk, run, e.last, data)
		e.length += size
		return
	}
	for chunk := range slices.Chunk(data, largeChunk) {
		b.Queue(sqlPutChunk, run, at, chunk)
		e.last, e.length = at, int64(len(chunk))
		at += e.length
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
	from = max(from, 0)
	most := int64(min(max(limit, 1), maxPart))
	chunks := most/smallChunk + 2 // the first and the last may give little
	found := false
	var state int16
	var tail, read int64
	more := false
	err = s.read(ctx, "output", func(b *pgx.Batch) {
		part = ruqi.OutputPart{At: from}
		queue(b, sqlOutputRun, []any{run}, func(rows pgx.Rows) error {
			found = true
			return rows.Scan(&state, &tail)
		})
		queue(b, sqlChunks, []any{run, from, chunks}, func(rows pgx.Rows) error {
			read++
			var at int64
			var data []byte
			if err := rows.Scan(&at, &data); err != nil || more {
				return err
			}
			more = join(&part, at, data, tail, from, most)
			return nil
		})
	})
	if err != nil {
		return ruqi.OutputPart{}, err
	}
	if !found {
		return ruqi.OutputPart{}, fmt.Errorf("output: run %d: %w", run, ruqi.ErrNotFound)
	}
	part.Ended = state > sqlstore.CodeRunning && !more && read < chunks
	return part, nil
}

// join adds what a chunk has from an offset on to the part, and reports that there is more than fits.
func join(part *ruqi.OutputPart, at int64, data []byte, tail, from, most int64) (more bool) {
	// The first chunk of the tail may begin before the kept part; those of the first half never reach over it.
	if at+int64(len(data)) > tail && at < tail {
		data, at = data[tail-at:], tail
	}
	if skip := min(from-at, int64(len(data))); skip > 0 {
		data, at = data[skip:], at+skip
	}
	switch {
	case len(data) == 0:
		return false
	case len(part.Bytes) == 0:
		part.At = at
	case part.At+int64(len(part.Bytes)) != at || int64(len(part.Bytes)) == most:
		return true
	}
	if room := most - int64(len(part.Bytes)); int64(len(data)) > room {
		data, more = data[:room], true
	}
	part.Bytes = append(part.Bytes, data...)
	return more
}
