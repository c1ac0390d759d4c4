package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

const recordColumns = `kind, key, version, data, updated`
const sqlRecord = `SELECT ` + recordColumns + ` FROM rq_record WHERE kind = ? AND key = ?`
const sqlRecords = `SELECT ` + recordColumns + ` FROM rq_record WHERE kind = ? AND key > ? AND key >= ? ORDER BY key LIMIT ?`
const sqlInsertRecord = `INSERT INTO rq_record (` + recordColumns + `) VALUES (?, ?, 1, ?, ?) ON CONFLICT (kind, key) DO NOTHING`
const sqlUpdateRecord = `UPDATE rq_record SET version = version + 1, data = ?, updated = ? WHERE kind = ? AND key = ? AND version = ?`
const sqlDeleteRecord = `DELETE FROM rq_record WHERE kind = ? AND key = ? AND version = ?`

func scanRecord(r row) ruqi.Record {
	return ruqi.Record{Kind: r.text(0), Key: r.text(1), Version: r.int(2), Data: r.bytes(3), Updated: r.time(4)}
}

func recordByKey(c *conn, kind, key string) (record ruqi.Record, err error) {
	found, err := c.one(sqlRecord, []any{kind, key}, func(r row) { record = scanRecord(r) })
	if err == nil && !found {
		err = fmt.Errorf("record %s %q: %w", kind, key, ruqi.ErrNotFound)
	}
	return record, err
}

// Get returns one record.
func (s *Store) Get(ctx context.Context, kind, key string) (record ruqi.Record, err error) {
	err = s.read(ctx, "get", func(c *conn) error {
		record, err = recordByKey(c, kind, key)
		return err
	})
	if err != nil {
		return ruqi.Record{}, err
	}
	return record, nil
}

// Put writes all records or none.
func (s *Store) Put(ctx context.Context, records ...ruqi.Record) error {
	if err := sqlstore.CheckRecordNames(records...); err != nil {
		return err
	}
	return s.write(ctx, "put", func(st *step) error {
		for _, r := range records {
			var n int64
			var err error
			if r.Version == 0 {
				n, err = st.exec(sqlInsertRecord, r.Kind, r.Key, dataOf(r.Data), st.us)
			} else {
				n, err = st.exec(sqlUpdateRecord, dataOf(r.Data), st.us, r.Kind, r.Key, r.Version)
			}
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("record %s %q: %w", r.Kind, r.Key, ruqi.ErrConflict)
			}
		}
		return nil
	})
}

func dataOf(data []byte) any {
	if data == nil {
		return nil
	}
	return data
}

// Delete removes the record at that version.
func (s *Store) Delete(ctx context.Context, kind, key string, version int64) error {
	return s.write(ctx, "delete", func(st *step) error {
		if _, err := recordByKey(st.conn, kind, key); err != nil {
			return err
		}
		n, err := st.exec(sqlDeleteRecord, kind, key, version)
		if err == nil && n == 0 {
			err = fmt.Errorf("record %s %q: %w", kind, key, ruqi.ErrConflict)
		}
		return err
	})
}

// List returns records of a kind by key.
func (s *Store) List(ctx context.Context, kind, prefix, after string, limit int) (list []ruqi.Record, err error) {
	limit = sqlstore.RecordPage(limit)
	err = s.read(ctx, "list", func(c *conn) error {
		list = nil
		return c.query(sqlRecords, []any{kind, after, prefix, limit}, func(r row) error {
			record := scanRecord(r)
			if !strings.HasPrefix(record.Key, prefix) {
				return errStop
			}
			list = append(list, record)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Append writes a record under a new key: sixteen digits of a counter that all kinds share.
func (s *Store) Append(ctx context.Context, kind string, data []byte) (key string, err error) {
	if err := sqlstore.CheckRecordNames(ruqi.Record{Kind: kind, Key: "0"}); err != nil {
		return "", err
	}
	err = s.write(ctx, "append", func(st *step) error {
		for {
			st.append++
			key = sqlstore.RecordKey(st.append)
			n, err := st.exec(sqlInsertRecord, kind, key, dataOf(data), st.us)
			if err != nil || n > 0 {
				return err
			}
		}
	})
	if err != nil {
		return "", err
	}
	return key, nil
}
