package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A step is one write transaction: everything a method writes, or nothing.
type step struct {
	*conn
	store *Store
	// now is the store's clock, read once.
	now time.Time
	// us is now in microseconds.
	us int64
	// The counters of the ledger, written back at the end.
	run, epoch, append int64
	// hint: schedulers wait for what the step changes.
	hint bool
}

const sqlBegin = `BEGIN IMMEDIATE`
const sqlCommit = `COMMIT`
const sqlRollback = `ROLLBACK`
const sqlBeginRead = `BEGIN`

const sqlLedger = `SELECT schema, oldest, run, epoch, append FROM rq_ledger WHERE one = 1`
const sqlSetLedger = `UPDATE rq_ledger SET token = ?, run = ?, epoch = ?, append = ? WHERE one = 1`
const sqlToken = `SELECT token FROM rq_ledger WHERE one = 1`

// maxRunID keeps run ids exact in the floating-point numbers of other languages.
const maxRunID = 1<<53 - 1

// clock reads the store's clock to the microsecond.
func (s *Store) clock() (now time.Time, us int64) {
	us = sqlstore.Micros(s.now())
	return sqlstore.Time(us), us
}

// write runs f in a write transaction. What f wrote happens whole when write
// returns nil and not at all otherwise, also when f panics. An error of f gets what
// in front, unless it is marked by asIs.
func (s *Store) write(ctx context.Context, what string, f func(*step) error) error {
	if s.unfit != nil {
		return fmt.Errorf("%s: %w", what, s.unfit)
	}
	c, err := s.take(ctx, s.writer)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	st := &step{conn: c, store: s}
	defer func() { s.writer <- st.conn }()
	if st.conn == nil {
		if st.conn, err = connect(s.path, s.busy); err != nil {
			return s.translate(what, err)
		}
	}
	if err := begin(ctx, st.conn); err != nil {
		st.abandon()
		return s.translate(what, err)
	}
	finished := false
	defer func() {
		if !finished { // f panicked: the panic goes on, the transaction does not
			st.abandon()
		}
	}()
	st.now, st.us = s.clock()
	st.changed = 0
	err = st.ledger()
	if err == nil {
		err = f(st)
	}
	if err == nil && st.changed > 0 {
		err = st.commit(ctx)
	} else {
		st.abandon()
	}
	finished = true
	if err == nil && st.hint && st.changed > 0 {
		s.hint()
	}
	var own *asIs
	if errors.As(err, &own) {
		return own.err
	}
	return s.translate(what, err)
}

// asIs marks an error that the caller of a method gets unchanged.
type asIs struct{ err error }

func (e *asIs) Error() string { return e.err.Error() }
func (e *asIs) Unwrap() error { return e.err }

// take waits for a connection to be free.
func (s *Store) take(ctx context.Context, from chan *conn) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-s.closed:
		return nil, errClosed
	default:
	}
	select {
	case c := <-from:
		select {
		case <-s.closed:
			from <- c
			return nil, errClosed
		default:
		}
		return c, nil
	case <-s.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin opens a write transaction. Only the wait for other processes is interrupted by
// ctx; statements inside a transaction are short and run to their end.
func begin(ctx context.Context, c *conn) error {
	c.ctx = ctx
	_, err := c.exec(sqlBegin)
	c.ctx = context.Background()
	return err
}

// rollback ends a transaction that may be there.
func rollback(c *conn) error {
	_, err := c.exec(sqlRollback)
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil // SQLite rolled back by itself, or it never began
	}
	return err
}

// abandon rolls back. A connection that cannot is thrown away; the next step opens another.
func (st *step) abandon() {
	if err := rollback(st.conn); err != nil {
		st.store.log.Warn("write connection replaced", "store", st.store.Location(), "error", err)
		_ = st.conn.close() // it failed already, and its locks end with it
		st.conn = nil
	}
}

func (st *step) ledger() error {
	var schema, oldest int64
	found, err := st.one(sqlLedger, nil, func(r row) {
		schema, oldest, st.run, st.epoch, st.append = r.int(0), r.int(1), r.int(2), r.int(3), r.int(4)
	})
	if err == nil && !found {
		return errors.New("the row of rq_ledger is gone: restore a backup")
	}
	if err == nil && oldest > st.store.schema {
		return &asIs{st.store.tooNew(schema)} // another process migrated under us
	}
	return err
}

// commit ends the transaction. When SQLite reports an error the outcome is
// settled by looking for the step's token.
func (st *step) commit(ctx context.Context) error {
	token := rand.Int64()
	if _, err := st.exec(sqlSetLedger, token, st.run, st.epoch, st.append); err != nil {
		st.abandon()
		return err
	}
	_, err := st.exec(sqlCommit)
	if err == nil {
		return nil
	}
	st.abandon()
	for range 5 { // a read fails rarely, and seldom twice
		if st.conn == nil {
			var e error
			if st.conn, e = connect(st.store.path, st.store.busy); e != nil {
				continue
			}
		}
		switch found, e := st.count(sqlToken); {
		case e != nil:
		case found == token:
			return nil
		default:
			return err
		}
	}
	return fmt.Errorf("it is not known whether the step happened: %v; look before it is tried again", err)
}

// nextRun gives the next run id.
func (st *step) nextRun() (int64, error) {
	if st.run >= maxRunID {
		return 0, errors.New("all run ids below 2^53 are used")
	}
	st.run++
	return st.run, nil
}

// read runs f on a connection that reads, on one state of the file.
func (s *Store) read(ctx context.Context, what string, f func(*conn) error) (err error) {
	return s.reading(ctx, ctx, what, f)
}

// readQuick is read for statements of microseconds, which end before they could be interrupted.
func (s *Store) readQuick(ctx context.Context, what string, f func(*conn) error) error {
	return s.reading(ctx, context.Background(), what, f)
}

func (s *Store) reading(ctx, interrupt context.Context, what string, f func(*conn) error) error {
	if s.unfit != nil {
		return fmt.Errorf("%s: %w", what, s.unfit)
	}
	return s.readAny(ctx, interrupt, what, f)
}

// readAny is reading whatever the schema of the file is.
func (s *Store) readAny(ctx, interrupt context.Context, what string, f func(*conn) error) (err error) {
	c, err := s.take(ctx, s.readers)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { s.readers <- c }()
	if c == nil {
		if c, err = connect(s.path, s.busy); err != nil {
			return s.translate(what, err)
		}
	}
	defer func() {
		c.ctx = context.Background()
		if e := rollback(c); e != nil {
			s.log.Warn("read connection replaced", "store", s.Location(), "error", e)
			_ = c.close() // it failed already
			c = nil
		}
	}()
	if _, err := c.exec(sqlBeginRead); err != nil {
		return s.translate(what, err)
	}
	c.ctx = interrupt
	return s.translate(what, f(c))
}
