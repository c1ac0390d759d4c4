// Package postgres keeps jobs, runs, output and records in a PostgreSQL database
// (12 or newer): the store for any number of equal instances on any number of hosts.
//
// A step that has returned is committed. All times are the server's; the clocks of
// the hosts play no part. Instances hear of each other's edits by LISTEN and NOTIFY,
// and where that is not possible (a pooler between) with their next poll.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// Options tune a store; the zero value is good.
type Options struct {
	// OutputCap is how many bytes of a run's output are kept, half of them from
	// its beginning and half from its end. 0: 1 MiB. Negative is refused.
	OutputCap int64
	// StepLimit is how long one step may take before its connection is given up. A step
	// takes milliseconds; this is for servers and networks that no longer answer. 0: 10 s. Negative is refused.
	StepLimit time.Duration
	// KeepSchema opens the database as it is: nothing is created or brought up to this
	// release. Only Schema and Check may be called unless the schema fits.
	KeepSchema bool
	// Logger gets warnings of the store. Nil: none.
	Logger *slog.Logger

	// now takes the place of the server's clock in tests.
	now func() time.Time
}

const (
	defaultOutputCap = 1 << 20          // bytes; what one page of a browser shows without pain
	defaultStepLimit = 10 * time.Second // less than a lease, a thousand times a step
)

// A Store is a ruqi.JobStore and ruqi.RecordStore in a PostgreSQL database.
type Store struct {
	address address
	now     func() time.Time
	cap     int64
	limit   time.Duration
	log     *slog.Logger
	// schema is the newest that this release knows.
	schema int
	// farOffset is from which offset on jobs are counted before a page of them is read.
	farOffset int

	// engine serves the steps that schedulers live by, front all others, so that
	// a crowd of readers never keeps a heartbeat waiting.
	engine, front *pgxpool.Pool
	// busy says that the last claim found work: the next one does not look first.
	busy        atomic.Bool
	definitions sqlstore.Definitions
	sweep       sqlstore.Sweep
	waker       waker

	once   sync.Once
	closed chan struct{}
}

var (
	_ ruqi.JobStore    = (*Store)(nil)
	_ ruqi.RecordStore = (*Store)(nil)
	_ ruqi.Locator     = (*Store)(nil)
	_ ruqi.Waker       = (*Store)(nil)
	_ ruqi.Caretaker   = (*Store)(nil)
)

// Open connects to the database at url, a connection URL or keyword string as libpq
// has them (postgres://user:password@host:5432/database?sslmode=verify-full), and brings its schema up to this release
// where needed; several instances may do so at once. Tables are made in the first schema of the
// search path. The parameter ruqi_listen=off, which is Ruqi's own, is for poolers that give each transaction another
// server session (PgBouncer): then there is no LISTEN and nothing is kept in sessions.
//
// A database that a newer release wrote is refused with ruqi.ErrSchemaNewer. Passwords are in no error.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	s, err := newStore(url, options)
	if err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		s.closePools()
		return nil, err
	}
	if err := s.prepareSchema(ctx, options.KeepSchema); err != nil {
		s.closePools()
		return nil, err
	}
	return s, nil
}

func newStore(url string, o Options) (*Store, error) {
	var faults ruqi.Faults
	if o.OutputCap < 0 {
		faults.Add("/outputCap", fmt.Sprint(o.OutputCap), "is negative; 0 means %d bytes", defaultOutputCap)
	}
	if o.StepLimit < 0 {
		faults.Add("/stepLimit", o.StepLimit.String(), "is negative; 0 means %s", defaultStepLimit)
	}
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("postgres: options: %w", err)
	}
	if o.OutputCap == 0 {
		o.OutputCap = defaultOutputCap
	}
	if o.StepLimit == 0 {
		o.StepLimit = defaultStepLimit
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		address: a, now: o.now, cap: o.OutputCap, limit: o.StepLimit, log: o.Logger, farOffset: farOffset,
		closed: make(chan struct{}),
	}
	s.waker.init(s)
	return s, nil
}

// clock returns the time that stands for the server's; nil: the server's own.
func (s *Store) clock() *time.Time {
	if s.now == nil {
		return nil
	}
	t := micro(s.now())
	return &t
}

// Location returns where the database is: "postgres://host:5432/database", without user and password.
func (s *Store) Location() string { return s.address.String() }

var errClosed = errors.New("the store is closed")

// Close waits for the steps under way and closes the connections. Calls after it fail; a second Close
// does nothing.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.waker.close()
		s.closePools()
	})
	return nil
}

func (s *Store) closePools() {
	for _, pool := range []*pgxpool.Pool{s.engine, s.front} {
		if pool != nil {
			pool.Close()
		}
	}
}
