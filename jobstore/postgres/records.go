package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const recordColumns = `kind, key, version, data, updated`

const (
	sqlRecord  = `SELECT ` + recordColumns + ` FROM rq_record WHERE kind = $1 AND key = $2`
	sqlRecords = `SELECT ` + recordColumns + ` FROM rq_record WHERE kind = $1 AND key > $2 AND key >= $3 AND ($4::bytea IS NULL OR key < $4) ORDER BY key LIMIT $5`
	sqlNewKey  = `UPDATE rq_ledger SET append = append + 1 WHERE one = 1 RETURNING append`

	sqlInsertRecord = `INSERT INTO rq_record (` + recordColumns + `) VALUES ($1, $2, 1, $3, $4) ON CONFLICT (kind, key) DO NOTHING`
	sqlUpdateRecord = `UPDATE rq_record SET version = version + 1, data = $3, updated = $4 WHERE kind = $1 AND key = $2 AND version = $5`
	sqlDeleteRecord = `DELETE FROM rq_record WHERE kind = $1 AND key = $2 AND version = $3`
)

func scanRecord(rows pgx.Row) (ruqi.Record, error) {
	var r ruqi.Record
	var kind, key []byte
	err := rows.Scan(&kind, &key, &r.Version, &r.Data, timeAt{&r.Updated})
	r.Kind, r.Key = string(kind), string(key)
	return r, err
}

// Get returns one record.
func (s *Store) Get(ctx context.Context, kind, key string) (record ruqi.Record, err error) {
	found := false
	b := &pgx.Batch{}
	queue(b, sqlRecord, []any{[]byte(kind), []byte(key)}, func(rows pgx.Rows) error {
		found = true
		record, err = scanRecord(rows)
		return err
	})
	if err := s.look(ctx, s.front, b); err != nil {
		return ruqi.Record{}, s.translate(ctx, "get", err)
	}
	if !found {
		return ruqi.Record{}, fmt.Errorf("get: record %s %q: %w", kind, key, ruqi.ErrNotFound)
	}
	return record, nil
}

// exactly checks that a statement changed one row.
func exactly(changed *bool) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*changed = tag.RowsAffected() == 1
		return nil
	}
}

// Put writes all records or none.
func (s *Store) Put(ctx context.Context, records ...ruqi.Record) error {
	if err := sqlstore.CheckRecordNames(records...); err != nil {
		return err
	}
	return s.write(ctx, s.front, "put", func(st *step) error {
		if err := st.start(nil); err != nil {
			return err
		}
		written := make([]bool, len(records))
		b := &pgx.Batch{}
		for i, r := range records {
			if r.Version == 0 {
				b.Queue(sqlInsertRecord, []byte(r.Kind), []byte(r.Key), r.Data, st.now).Exec(exactly(&written[i]))
			} else {
				b.Queue(sqlUpdateRecord, []byte(r.Kind), []byte(r.Key), r.Data, st.now, r.Version).Exec(exactly(&written[i]))
			}
		}
		if err := st.send(b); err != nil {
			return err
		}
		for i, r := range records {
			if !written[i] {
				return &asIs{fmt.Errorf("put: record %s %q: %w", r.Kind, r.Key, ruqi.ErrConflict)}
			}
		}
		return st.commit(nil)
	})
}

// Delete removes the record at that version.
func (s *Store) Delete(ctx context.Context, kind, key string, version int64) error {
	return s.write(ctx, s.front, "delete", func(st *step) error {
		found, deleted := false, false
		err := st.start(func(b *pgx.Batch) {
			queue(b, sqlRecord+" FOR UPDATE", []any{[]byte(kind), []byte(key)}, func(pgx.Rows) error { found = true; return nil })
			b.Queue(sqlDeleteRecord, []byte(kind), []byte(key), version).Exec(exactly(&deleted))
		})
		switch {
		case err != nil:
			return err
		case !found:
			return &asIs{fmt.Errorf("delete: record %s %q: %w", kind, key, ruqi.ErrNotFound)}
		case !deleted:
			return &asIs{fmt.Errorf("delete: record %s %q: %w", kind, key, ruqi.ErrConflict)}
		}
		return st.commit(nil)
	})
}

// List returns records of a kind by key.
func (s *Store) List(ctx context.Context, kind, prefix, after string, limit int) (list []ruqi.Record, err error) {
	b := &pgx.Batch{}
	args := []any{[]byte(kind), []byte(after), []byte(prefix), prefixEnd(prefix), sqlstore.RecordPage(limit)}
	queue(b, sqlRecords, args, func(rows pgx.Rows) error {
		record, err := scanRecord(rows)
		list = append(list, record)
		return err
	})
	if err := s.look(ctx, s.front, b); err != nil {
		return nil, s.translate(ctx, "list", err)
	}
	return list, nil
}

// prefixEnd is the first key after all that begin with the prefix; nil: there is none.
func prefixEnd(prefix string) []byte {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return nil
	}
	end[len(end)-1]++
	return end
}

// Append writes a record under a new key, which is a number that all kinds share. Who appends holds the number's row
// until its step ends, so keys appear in their order.
func (s *Store) Append(ctx context.Context, kind string, data []byte) (key string, err error) {
	if err := sqlstore.CheckRecordNames(ruqi.Record{Kind: kind, Key: "0"}); err != nil {
		return "", err
	}
	err = s.write(ctx, s.front, "append", func(st *step) error {
		if err := st.start(nil); err != nil {
			return err
		}
		for written := false; !written; { // a key may have been put by hand
			var n int64
			if err := st.query(sqlNewKey, nil, func(rows pgx.Rows) error { return rows.Scan(&n) }); err != nil {
				return err
			}
			key = sqlstore.RecordKey(n)
			b := &pgx.Batch{}
			b.Queue(sqlInsertRecord, []byte(kind), []byte(key), data, st.now).Exec(exactly(&written))
			if err := st.send(b); err != nil {
				return err
			}
		}
		return st.commit(nil)
	})
	if err != nil {
		return "", err
	}
	return key, nil
}
