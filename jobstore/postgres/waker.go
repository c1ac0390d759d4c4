package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// notifyEvery bounds notifications: ten a second wake as well as a thousand, and a NOTIFY holds a
	// lock of the whole server while it commits.
	notifyEvery = 100 * time.Millisecond
	// notifyWait is how long one notification may take; it is a hint, and the poll is the truth.
	notifyWait = 2 * time.Second
	// listenAgain is the time between tries to listen: that of the poll, which does without.
	listenAgain = time.Second
)

// A waker tells schedulers that something changed: those on this store at once, those on
// others by NOTIFY. Changes of others come in by LISTEN on a connection of its own. Its zero value is not ready; see init.
type waker struct {
	store *Store
	// self marks this store's own notifications.
	self string
	// asked holds one wish to notify.
	asked chan struct{}
	// life ends with the store.
	life   context.Context
	end    context.CancelFunc
	group  sync.WaitGroup
	listen sync.Once
	notify sync.Once

	mu     sync.Mutex // guards wakers, ended
	wakers map[chan struct{}]struct{}
	ended  bool
}

func (w *waker) init(s *Store) {
	w.store, w.self = s, fmt.Sprintf("%016x", rand.Uint64())
	w.asked, w.wakers = make(chan struct{}, 1), map[chan struct{}]struct{}{}
	w.life, w.end = context.WithCancel(context.Background())
}

// close ends the loops and waits for them.
func (w *waker) close() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.end()
	w.group.Wait()
}

// start begins a loop, once, unless the store is closed.
func (w *waker) start(once *sync.Once, loop func()) {
	once.Do(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.ended {
			w.group.Go(loop)
		}
	})
}

// Wake returns a channel that receives after changes, also those made by other instances.
func (s *Store) Wake() (hints <-chan struct{}, stop func()) {
	w := &s.waker
	c := make(chan struct{}, 1)
	w.mu.Lock()
	w.wakers[c] = struct{}{}
	w.mu.Unlock()
	if s.address.listen {
		w.start(&w.listen, w.listenLoop)
	}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.wakers, c)
	}
}

// tell hints to every waker of this store. A full channel has its hint already.
func (w *waker) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// hint tells everyone, those on other stores a moment later.
func (w *waker) hint() {
	w.tell()
	if !w.store.address.listen {
		return
	}
	w.start(&w.notify, w.notifyLoop)
	select {
	case w.asked <- struct{}{}:
	default:
	}
}

// The channel has the schema in its name, since channels are those of the whole database.
const sqlNotify = `SELECT pg_notify('ruqi ' || current_schema(), $1)`
const sqlListen = `SELECT quote_ident('ruqi ' || current_schema())`

// notifyLoop sends what was asked for, at most one notification in notifyEvery.
func (w *waker) notifyLoop() {
	for {
		select {
		case <-w.asked:
		case <-w.life.Done():
			return
		}
		ctx, cancel := context.WithTimeout(w.life, notifyWait)
		_, err := w.store.front.Exec(ctx, sqlNotify, w.self)
		cancel()
		if err != nil && w.life.Err() == nil {
			w.store.log.Debug("others could not be notified; they see the change with their poll", "store", w.store.Location(), "error", err)
		}
		select {
		case <-time.After(notifyEvery):
		case <-w.life.Done():
			return
		}
	}
}

// listenLoop hears the notifications of others. Whenever it has begun to listen it tells the wakers, since it may have missed some.
func (w *waker) listenLoop() {
	for w.life.Err() == nil {
		if err := w.listenOnce(); err != nil && w.life.Err() == nil {
			w.store.log.Debug("notifications cannot be heard; the poll goes on", "store", w.store.Location(), "error", err)
		}
		select {
		case <-time.After(listenAgain):
		case <-w.life.Done():
			return
		}
	}
}

// listenAlive is how long a connection is believed in without a word: a network may swallow what comes without telling.
const listenAlive = 30 * time.Second

// next waits for a notification, and now and then asks whether the server is still there.
func (w *waker) next(conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		wait, cancel := context.WithTimeout(w.life, listenAlive)
		notification, err := conn.WaitForNotification(wait)
		cancel()
		if err == nil || w.life.Err() != nil || !pgconn.Timeout(err) {
			return notification, err
		}
		limited, cancel := context.WithTimeout(w.life, w.store.limit)
		err = conn.Ping(limited)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}

// listenOnce hears notifications until its connection ends.
func (w *waker) listenOnce() error {
	limited, cancel := context.WithTimeout(w.life, w.store.limit)
	defer cancel()
	conn, err := pgx.ConnectConfig(limited, w.store.address.config.ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(w.life), notifyWait)
		defer cancel()
		_ = conn.Close(closing) // nothing is lost with it
	}()
	var channel string
	if err := conn.QueryRow(limited, sqlListen).Scan(&channel); err != nil {
		return err
	}
	if _, err := conn.Exec(limited, "LISTEN "+channel); err != nil {
		return err
	}
	w.tell()
	for {
		notification, err := w.next(conn)
		if err != nil {
			return err
		}
		if notification.Payload != w.self {
			w.tell()
		}
	}
}
