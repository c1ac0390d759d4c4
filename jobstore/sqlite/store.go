// Package sqlite keeps jobs, runs, output and records in one SQLite file: the
// store for a program or a service on one host. It is the database engine in Go, so
// nothing has to be installed.
//
// Several schedulers and several processes of the host may share the file. A
// step that has returned survives a kill of the process and a loss of power. The
// file must be on a local disk: locks of SQLite do not hold on network file systems.
//
// One connection writes, one step at a time; others read beside it. Hints (Wake)
// reach the schedulers on the same Store; those in other processes see changes
// with their next poll.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// Options tune a store; the zero value is good.
type Options struct {
	// Now is the store's clock. Nil: time.Now. All processes that share the file
	// must have the same clock, which those of one host have.
	Now func() time.Time
	// OutputCap is how many bytes of a run's output are kept, half of them from
	// its beginning and half from its end. 0: 1 MiB. Negative is refused.
	OutputCap int64
	// Busy is how long a step waits for another process that writes, before it
	// fails with ruqi.ErrUnavailable. 0: 10 s. Negative is refused.
	Busy time.Duration
	// Readers is how many pages can be read at the same time. 0: 4. Negative is refused.
	Readers int
	// Logger gets warnings of the store. Nil: none.
	Logger *slog.Logger
	// KeepSchema opens the file as it is, for Schema and Check: it is neither created nor brought up. If there is none, or its
	// schema is an older one, all other methods fail with a sentence that says so, until it is opened anew.
	KeepSchema bool

	// statfs tells the file system of a folder; tests plant others.
	statfs func(path string) (int64, error)
}

const (
	defaultOutputCap = 1 << 20          // bytes; what one page of a browser shows without pain
	defaultBusy      = 10 * time.Second // steps of other processes take milliseconds, their checkpoints less than a second
	defaultReaders   = 4                // pages at once; each keeps up to 16 MiB of cache
)

// A Store is a ruqi.JobStore and ruqi.RecordStore in an SQLite file.
type Store struct {
	path   string
	now    func() time.Time
	cap    int64
	busy   time.Duration
	log    *slog.Logger
	schema int64
	// unfit says why the file is no store of this release's schema; nil when it is. Set when it is opened.
	unfit error

	// writer holds the one connection that writes; who takes it out writes. It is
	// nil inside when the last one had to be thrown away.
	writer      chan *conn
	definitions sqlstore.Definitions
	// readers holds the connections that read, nil where none was needed yet.
	readers chan *conn
	// closed is closed by Close.
	closed chan struct{}
	once   sync.Once
	// closing is what Close came to.
	closing error

	// mu guards wakers.
	mu     sync.Mutex
	wakers map[chan struct{}]struct{}

	sweep sqlstore.Sweep
	// tallySteps is the constant of that name; tests plant another.
	tallySteps int
}

var (
	_ ruqi.JobStore    = (*Store)(nil)
	_ ruqi.RecordStore = (*Store)(nil)
	_ ruqi.Locator     = (*Store)(nil)
	_ ruqi.Waker       = (*Store)(nil)
	_ ruqi.Caretaker   = (*Store)(nil)
)

// Open opens the file at path, creating it (for its owner alone, mode 0600) and
// bringing its schema up to this release where needed. The folder must exist and must not be on
// a network file system. A file that a newer release has brought up is taken as long as that release
// says that programs of this one's schema may still work on it; else it is refused with ruqi.ErrSchemaNewer.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	s, err := newStore(path, options)
	if err != nil {
		return nil, err
	}
	if options.KeepSchema {
		s.writer <- nil // connected when it is needed
		return s, s.keep(ctx)
	}
	if err := createFile(s.path); err != nil {
		return nil, err
	}
	c, err := connect(s.path, s.busy)
	if err != nil {
		return nil, s.translate("open", err)
	}
	if err := s.migrate(ctx, c); err != nil {
		return nil, errors.Join(s.translate("open", err), c.close())
	}
	s.writer <- c
	return s, nil
}

func newStore(path string, o Options) (*Store, error) {
	var faults ruqi.Faults
	if o.OutputCap < 0 {
		faults.Add("/outputCap", fmt.Sprint(o.OutputCap), "is negative; 0 means %d bytes", defaultOutputCap)
	}
	if o.Busy < 0 {
		faults.Add("/busy", o.Busy.String(), "is negative; 0 means %s", defaultBusy)
	}
	if o.Readers < 0 {
		faults.Add("/readers", fmt.Sprint(o.Readers), "is negative; 0 means %d", defaultReaders)
	}
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("sqlite: options: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OutputCap == 0 {
		o.OutputCap = defaultOutputCap
	}
	if o.Busy == 0 {
		o.Busy = defaultBusy
	}
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.statfs == nil {
		o.statfs = statfs
	}
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	there := true // or it will be
	if o.KeepSchema {
		there, err = findFile(abs)
	}
	if there && err == nil {
		err = checkFolder(abs, o.statfs)
	}
	if err != nil {
		return nil, err
	}
	texts, err := sqlstore.Migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	s := &Store{
		schema: int64(len(texts)),
		path:   abs, now: o.Now, cap: o.OutputCap, busy: o.Busy, log: o.Logger,
		writer:  make(chan *conn, 1),
		readers: make(chan *conn, o.Readers),
		closed:  make(chan struct{}),
		wakers:  map[chan struct{}]struct{}{},

		tallySteps: tallySteps,
	}
	for range o.Readers {
		s.readers <- nil
	}
	return s, nil
}

// Location returns "sqlite:" and the file's absolute path.
func (s *Store) Location() string { return "sqlite:" + s.path }

// Close waits for the steps under way and closes the file. Calls after it fail; a second Close
// returns what the first did.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closed)
		var errs []error
		for range cap(s.readers) {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.close())
			}
		}
		// The writer goes last: with the last connection SQLite empties the write-ahead log.
		if c := <-s.writer; c != nil {
			errs = append(errs, c.close())
		}
		s.closing = s.translate("close", errors.Join(errs...))
	})
	return s.closing
}

// Wake returns a channel that receives after changes made through this Store.
func (s *Store) Wake() (hints <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakers[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.wakers, c)
	}
}

// hint tells every waker that something changed. A full channel has its hint already.
func (s *Store) hint() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
