package postgrestest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// sessions keeps those with a shared server that have nothing to do. To start one takes a server about as long as to make a
// table; each schema and database is made and dropped by statements of this package.
type sessions struct {
	mu   sync.Mutex
	idle []*pgx.Conn // guarded by mu
}

// take returns a session that works: one that was given back, or a new one.
func (s *sessions) take(ctx context.Context, url string) (*pgx.Conn, error) {
	for c := s.pop(); c != nil; c = s.pop() {
		if c.Ping(ctx) == nil {
			return c, nil
		}
		_ = c.Close(ctx) // somebody has cut it
	}
	return pgx.Connect(ctx, url)
}

func (s *sessions) pop() *pgx.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) == 0 {
		return nil
	}
	c := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	return c
}

// give takes a session back.
func (s *sessions) give(c *pgx.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, c)
}
