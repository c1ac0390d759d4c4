package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A step is one transaction that writes: everything a method writes, or nothing. Its
// statements go in batches, each one round trip: the first opens the transaction, the last commits it.
type step struct {
	store *Store
	conn  *pgx.Conn
	// ctx bounds the statements of the step; caller is the context of who waits for it.
	ctx, caller context.Context
	// now is the server's clock, as the first batch read it.
	now time.Time
	// tx numbers the transaction, so that a commit whose answer was lost can be looked up.
	tx   int64
	open bool
	// hint: schedulers wait for what the step changes.
	hint bool
	// done says that the step has committed, lost that the answers of its last batch did not come.
	done, lost bool
}

const (
	sqlBegin    = `BEGIN ISOLATION LEVEL READ COMMITTED`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`
	// sqlNow is the time of a transaction; $1 takes the place of the server's clock in tests.
	sqlNow = `SELECT coalesce($1::timestamptz, statement_timestamp()), txid_current()`
)

// begin opens the transaction in front of a batch.
func (st *step) begin(b *pgx.Batch) {
	b.Queue(sqlBegin)
	st.store.address.set(b)
	st.open = true
}

// planFor is how long a session keeps its plans. A plan that was made when a table had a few rows may be a bad one when it
// has a million, and the server makes a new one only with its next ANALYZE. To plan all statements costs some 20 ms.
const planFor = 10 * time.Second

const sqlReplan = `DISCARD PLANS`

// plannedAt is where a connection keeps the time of its plans.
const plannedAt = "ruqi planned"

// take takes a connection out of the pool. Its session makes new plans when those it has are old.
func (s *Store) take(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil || !s.address.listen { // behind a pooler nothing is kept in a session
		return conn, err
	}
	data, now := conn.Conn().PgConn().CustomData(), time.Now()
	at, planned := data[plannedAt].(time.Time)
	if planned && now.Sub(at) < planFor {
		return conn, nil
	}
	data[plannedAt] = now
	if planned { // by itself: in a batch it would be the first statement of the batch's transaction
		if _, err := conn.Exec(ctx, sqlReplan); err != nil {
			conn.Release()
			return nil, err
		}
	}
	return conn, nil
}

// start sends what f queues as the first batch, and reads the clock in it.
func (st *step) start(f func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	st.begin(b)
	b.Queue(sqlNow, st.store.clock()).QueryRow(func(row pgx.Row) error { return row.Scan(timeAt{&st.now}, &st.tx) })
	if f != nil {
		f(b)
	}
	return st.send(b)
}

// send sends a batch and reads all its answers.
func (st *step) send(b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return st.conn.SendBatch(st.ctx, b).Close()
}

// query sends one statement and reads its rows.
func (st *step) query(sql string, args []any, each func(pgx.Rows) error) error {
	b := &pgx.Batch{}
	queue(b, sql, args, each)
	return st.send(b)
}

// queue adds a statement whose rows are read one by one.
func queue(b *pgx.Batch, sql string, args []any, each func(pgx.Rows) error) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// commit sends a last batch and commits with it. When the answer is lost, the outcome is
// settled by reading, and the step is marked as lost: what the batch was to read is not there.
func (st *step) commit(b *pgx.Batch) error {
	if b == nil {
		b = &pgx.Batch{}
	}
	b.Queue(sqlCommit).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" { // "ROLLBACK": the transaction had failed before
			return errors.New("the server rolled the step back")
		}
		st.done = true
		return nil
	})
	err := st.send(b)
	if st.done {
		st.open = false
		return nil
	}
	var answered *pgconn.PgError
	switch {
	case err == nil:
		return errors.New("the server gave no answer to COMMIT")
	case errors.As(err, &answered) && answered.SeverityUnlocalized == "ERROR", pgconn.SafeToRetry(err):
		return err // it did not happen, and the server said so
	}
	happened, settling := st.store.settle(st.caller, st.tx)
	if settling != nil {
		return &unsettled{settling, err}
	}
	if !happened {
		return &unavailable{err}
	}
	st.done, st.lost, st.open = true, true, false
	return nil
}

// unsettled is the error of a step of which nobody can say whether it happened.
type unsettled struct{ why, cause error }

func (e *unsettled) Error() string {
	return fmt.Sprintf("it is not known whether the step happened (%v): look before it is tried again (%v)", e.why, e.cause)
}
func (e *unsettled) Unwrap() error { return e.why }

// unavailable marks an error of a step that certainly did not happen, for want of a server.
type unavailable struct{ err error }

func (e *unavailable) Error() string { return e.err.Error() }
func (e *unavailable) Unwrap() error { return e.err }

const sqlOutcome = `SELECT txid_status($1)`

// settleWait is the time between two looks at a transaction that has not ended yet.
const settleWait = 100 * time.Millisecond

// settle finds out whether a transaction was committed, for as long as ctx lives: while the
// server is away nothing is known, and nothing may be sent again.
func (s *Store) settle(ctx context.Context, tx int64) (happened bool, err error) {
	s.log.Warn("the answer to a commit was lost; looking up what became of it", "store", s.Location())
	for {
		var status *string
		err := s.outcome(ctx, tx, &status)
		var answered *pgconn.PgError
		var gone *unavailable
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case s.isClosed():
			return false, errClosed
		case errors.As(err, &gone): // nobody was asked
		case errors.As(err, &answered) && answered.Code == codeInvalidParameter:
			return false, nil // a number in the future: this server never had the transaction (a standby that took over)
		case err != nil:
		case status == nil:
			return false, errors.New("the server keeps no word of it any more")
		case *status == "committed":
			return true, nil
		case *status == "aborted":
			return false, nil
		}
		select {
		case <-time.After(settleWait):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-s.closed:
			return false, errClosed
		}
	}
}

// outcome reads what became of a transaction.
func (s *Store) outcome(ctx context.Context, tx int64, status **string) error {
	b := &pgx.Batch{}
	b.Queue(sqlOutcome, tx).QueryRow(func(row pgx.Row) error { return row.Scan(status) })
	return s.beside(ctx, b)
}

// beside is look on a new connection, for a step whose answers were lost: those of the pool may all belong to such steps.
func (s *Store) beside(ctx context.Context, b *pgx.Batch) error {
	if s.isClosed() {
		return &asIs{errClosed}
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.address.config.ConnConfig.Copy())
	if err != nil {
		return &unavailable{err}
	}
	defer func() { _ = conn.Close(ctx) }() // it has only read
	return conn.SendBatch(ctx, s.withSettings(b)).Close()
}

// oneRow reads a single row.
func (s *Store) oneRow(ctx context.Context, sql string, args []any, scan func(pgx.Row) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	conn, err := s.engine.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return scan(conn.QueryRow(ctx, sql, args...))
}

// retries bounds how often a step begins anew when it met another: a deadlock, or two that add the same job.
const retries = 20

// write runs f in a transaction. What f wrote happens whole when write returns
// nil and not at all otherwise, also when f panics. An error of f gets what in front, unless it
// is marked by asIs. f may be called again, from the beginning, when the step met another one.
func (s *Store) write(ctx context.Context, pool *pgxpool.Pool, what string, f func(*step) error) error {
	return s.writeWithin(ctx, s.limit, pool, what, f)
}

// writeWithin is write with a limit of its own for each try.
func (s *Store) writeWithin(ctx context.Context, limit time.Duration, pool *pgxpool.Pool, what string, f func(*step) error) error {
	for try := 1; ; try++ {
		err := s.writeOnce(ctx, limit, pool, f)
		if err == nil || try == retries || !metAnother(err) {
			var own *asIs
			if errors.As(err, &own) {
				return own.err
			}
			return s.translate(ctx, what, err)
		}
		pause := time.Duration(rand.Int64N(int64(try) * int64(2*time.Millisecond)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, limit time.Duration, pool *pgxpool.Pool, f func(*step) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.isClosed() {
		return &asIs{errClosed}
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := s.take(limited, pool)
	if err != nil {
		return &unavailable{err}
	}
	st := &step{store: s, conn: conn.Conn(), ctx: limited, caller: ctx}
	defer func() {
		st.abandon() // also when f panicked: the panic goes on, the transaction does not
		conn.Release()
	}()
	if err := f(st); err != nil {
		return err
	}
	if st.done && st.hint {
		s.waker.hint()
	}
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// asIs marks an error that the caller of a method gets unchanged.
type asIs struct{ err error }

func (e *asIs) Error() string { return e.err.Error() }
func (e *asIs) Unwrap() error { return e.err }

// abandon rolls back what was not committed. A connection that cannot is closed, and its transaction ends with it.
func (st *step) abandon() {
	if !st.open || st.done || st.conn.IsClosed() {
		return
	}
	st.open = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.ctx), st.store.limit)
	defer cancel()
	if _, err := st.conn.Exec(ctx, sqlRollback); err != nil {
		_ = st.conn.Close(ctx) // it failed already
	}
}

// sqlBeginRead gives all statements of a page one state of the database.
const sqlBeginRead = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// read sends statements that only read, on one state of the database, in one round trip.
func (s *Store) read(ctx context.Context, what string, f func(*pgx.Batch)) error {
	return s.translate(ctx, what, s.reading(ctx, f))
}

func (s *Store) reading(ctx context.Context, f func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	b.Queue(sqlBeginRead)
	s.address.set(b)
	f(b)
	b.Queue(sqlCommit)
	return s.ask(ctx, s.front, b)
}

// readingAfter is reading in two round trips: what first reads decides what then asks, on the same state of the database.
func (s *Store) readingAfter(ctx context.Context, first, then func(*pgx.Batch)) error {
	return s.writeOnce(ctx, s.limit, s.front, func(st *step) error {
		b := &pgx.Batch{}
		b.Queue(sqlBeginRead)
		s.address.set(b)
		st.open = true
		first(b)
		if err := st.send(b); err != nil {
			return err
		}
		b = &pgx.Batch{}
		then(b)
		b.Queue(sqlCommit)
		err := st.send(b)
		st.open = err != nil
		return err
	})
}

// look sends a batch that only reads, or is one statement. The batch is a transaction, without BEGIN.
func (s *Store) look(ctx context.Context, pool *pgxpool.Pool, b *pgx.Batch) error {
	return s.ask(ctx, pool, s.withSettings(b))
}

// withSettings is a batch without BEGIN after the settings of its transaction.
func (s *Store) withSettings(b *pgx.Batch) *pgx.Batch {
	whole := &pgx.Batch{}
	s.address.set(whole)
	whole.QueuedQueries = append(whole.QueuedQueries, b.QueuedQueries...)
	return whole
}

// ask sends a batch that is a whole transaction.
func (s *Store) ask(ctx context.Context, pool *pgxpool.Pool, b *pgx.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.isClosed() {
		return &asIs{errClosed}
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	conn, err := s.take(limited, pool)
	if err != nil {
		return &unavailable{err}
	}
	defer conn.Release()
	if err := conn.SendBatch(limited, b).Close(); err != nil {
		var answered *pgconn.PgError
		if errors.As(err, &answered) && !conn.Conn().IsClosed() {
			_, _ = conn.Exec(limited, sqlRollback) // a connection that cannot is thrown away by the pool
		}
		return err
	}
	return nil
}
