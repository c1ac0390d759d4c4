package postgrestest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// What the tests of this package look at.
var (
	Alive      = alive
	ChildrenOf = childrenOf
	FindBin    = findBin
	Places     = places
)

// NewOnPorts is New with the ports to be tried.
func NewOnPorts(t testing.TB, ports func() (int, error)) *Server {
	t.Helper()
	return newServer(t, Options{}, ports)
}

// KeepSessions makes a server of one test keep sessions as the shared one does.
func KeepSessions(s *Server) { s.idle = &sessions{} }

// Act asks a question in the way in which schemas are made.
func Act(t testing.TB, s *Server, query string, answer any) {
	t.Helper()
	err := s.run(t.Context(), func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, query).Scan(answer) })
	if err != nil {
		t.Fatal(err)
	}
}
