package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"unsafe"

	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
	lib "modernc.org/sqlite/lib"
)

// WithStatfs plants a file system.
func WithStatfs(o Options, statfs func(path string) (int64, error)) Options {
	o.statfs = statfs
	return o
}

// CountSlowly makes one Clean count so many times 500 runs at the most.
func (s *Store) CountSlowly(steps int) { s.tallySteps = steps }

// ErrPlanted is the fault of BreakCommit.
var ErrPlanted = errors.New("planted")

// BreakCommit makes the next commit report an error, after it has happened or
// instead of happening.
func (s *Store) BreakCommit(after bool) error {
	c := <-s.writer
	defer func() { s.writer <- c }()
	st, err := c.prepare(sqlCommit)
	if err != nil {
		return err
	}
	st.raw = &brokenCommit{StmtExecContext: st.raw.(driver.StmtExecContext), Stmt: st.raw, after: after, broken: func() {
		delete(c.statements, sqlCommit)
	}}
	return nil
}

type brokenCommit struct {
	driver.Stmt
	driver.StmtExecContext
	after  bool
	broken func()
}

func (b *brokenCommit) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	b.broken()
	if b.after {
		if _, err := b.StmtExecContext.ExecContext(ctx, args); err != nil {
			return nil, err
		}
	}
	return nil, errors.Join(ErrPlanted, b.Stmt.Close())
}

// ExecSQL runs a statement as a foreign hand would.
func (s *Store) ExecSQL(sql string, args ...any) error {
	c := <-s.writer
	defer func() { s.writer <- c }()
	_, err := c.exec(sql, args...)
	return err
}

// Make makes the file with the schema of that number, as the release of that time did.
func Make(ctx context.Context, path string, schema int) error {
	s, err := newStore(path, Options{})
	if err != nil {
		return err
	}
	texts, err := sqlstore.Migrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := createFile(s.path); err != nil {
		return err
	}
	c, err := connect(s.path, s.busy)
	if err != nil {
		return err
	}
	s.schema = int64(schema)
	if err = s.useWAL(ctx, c); err == nil {
		err = s.applyMigrations(c, texts[:schema])
	}
	return errors.Join(err, c.close())
}

// Begin opens a transaction on the file that stays open until done is called, as a process
// that hangs in one would.
func Begin(path string) (done func() error, err error) {
	c, err := connect(path, defaultBusy)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec(sqlBegin); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return func() error { return errors.Join(rollback(c), c.close()) }, nil
}

// IntegrityCheck returns what SQLite finds wrong in the file; "ok" is nothing.
func (s *Store) IntegrityCheck(ctx context.Context) (text string, err error) {
	err = s.read(ctx, "check", func(c *conn) error {
		_, err := c.one("PRAGMA integrity_check", nil, func(r row) { text = r.text(0) })
		return err
	})
	return text, err
}

// CountSQL returns the number that a query finds.
func (s *Store) CountSQL(ctx context.Context, sql string, args ...any) (n int64, err error) {
	err = s.read(ctx, "count", func(c *conn) error {
		n, err = c.count(sql, args...)
		return err
	})
	return n, err
}

// Steps returns how many steps SQLite's machine has taken for the statements of the store since Steps was called last. The driver
// does not tell, so that its handles are taken out of it; the store must be at rest.
func (s *Store) Steps() (n int64) {
	conns := []*conn{<-s.writer}
	for range cap(s.readers) {
		conns = append(conns, <-s.readers)
	}
	for i, c := range conns {
		if c != nil {
			for _, st := range c.statements {
				n += stepsOf(lib.Xsqlite3_stmt_status, c.raw, st.raw)
			}
		}
		if i == 0 {
			s.writer <- c
		} else {
			s.readers <- c
		}
	}
	return n
}

func stepsOf[T any](status func(tls T, statement uintptr, op, reset int32) int32, c driver.Conn, st driver.Stmt) int64 {
	tls := reflect.ValueOf(c).Elem().FieldByName("tls")
	handle := reflect.ValueOf(st).Elem().FieldByName("pstmt").Uint()
	if handle == 0 {
		return 0
	}
	return int64(status(*(*T)(unsafe.Pointer(tls.UnsafeAddr())), uintptr(handle), lib.SQLITE_STMTSTATUS_VM_STEP, 1))
}
