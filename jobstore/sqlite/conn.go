package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
	"modernc.org/sqlite"
)

// A conn is one connection with its prepared statements. The driver is used
// without database/sql: a statement belongs to one connection here, each
// connection to one step at a time, and values need no reflection. A conn is used
// by one goroutine at a time.
type conn struct {
	raw        driver.Conn
	statements map[string]*statement
	// ctx interrupts statements; steps that must not stop half way leave it without an end.
	ctx context.Context
	// changed counts the rows that exec has changed since it was last set to zero.
	changed int64
}

// A statement is prepared once and keeps the memory of its arguments and rows.
type statement struct {
	raw  driver.Stmt
	args []driver.NamedValue
	row  row
}

// connect opens the file, which must be there, and sets the connection up.
func connect(path string, busy time.Duration) (*conn, error) {
	raw, err := new(sqlite.Driver).Open(fileURI(path))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, statements: map[string]*statement{}, ctx: context.Background()}
	for _, pragma := range []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", busy.Milliseconds()),
		// A step that has returned survives a loss of power too.
		"PRAGMA synchronous = FULL",
		// Sorts of a page need no files.
		"PRAGMA temp_store = MEMORY",
		"PRAGMA cache_size = -65536",       // KiB, taken as needed: the hot part of a store of 100,000 jobs
		"PRAGMA wal_autocheckpoint = 4000", // pages, 16 MiB: rows changed again meanwhile are moved once
		"PRAGMA journal_size_limit = 67108864",
	} {
		if _, err := c.exec(pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.raw.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

func (c *conn) prepare(sql string) (*statement, error) {
	if s := c.statements[sql]; s != nil {
		return s, nil
	}
	raw, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, err
	}
	s := &statement{raw: raw}
	c.statements[sql] = s
	return s, nil
}

func (s *statement) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case *time.Time:
			a = nil
			if v != nil {
				a = sqlstore.Micros(*v)
			}
		case time.Time:
			a = sqlstore.Micros(v)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// exec runs a statement that returns no rows, and tells how many rows it
// changed (of a statement that changes none by its kind, the number means nothing).
func (c *conn) exec(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	result, err := s.raw.(driver.StmtExecContext).ExecContext(c.ctx, s.bind(args))
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	c.changed += n
	return n, err
}

// errStop ends a query early without an error.
var errStop = errors.New("enough rows")

// query calls each with every row; each may keep the values, but not the row. An error
// of each ends the query and is returned, errStop as nil.
func (c *conn) query(sql string, args []any, each func(row) error) (err error) {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	rows, err := s.raw.(driver.StmtQueryContext).QueryContext(c.ctx, s.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	if s.row == nil {
		s.row = make(row, len(rows.Columns()))
	}
	for {
		switch err := rows.Next(s.row); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		switch err := each(s.row); err {
		case nil:
		case errStop:
			return nil
		default:
			return err
		}
	}
}

// one reads the first row, and reports whether there is one.
func (c *conn) one(sql string, args []any, each func(row)) (found bool, err error) {
	err = c.query(sql, args, func(r row) error {
		found = true
		each(r)
		return errStop
	})
	return found, err
}

// count reads a single number.
func (c *conn) count(sql string, args ...any) (n int64, err error) {
	_, err = c.one(sql, args, func(r row) { n = r.int(0) })
	return n, err
}

// A row is the values of one row. An absent value reads as zero.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (r row) bytes(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func (r row) time(i int) time.Time { return sqlstore.Time(r.int(i)) }

func (r row) timePtr(i int) *time.Time {
	n, ok := r[i].(int64)
	if !ok {
		return nil
	}
	t := sqlstore.Time(n)
	return &t
}

func (r row) null(i int) bool { return r[i] == nil }

// script runs a text of several statements, once.
func (c *conn) script(sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(c.ctx, sql, nil)
	return err
}
