package postgrestest

import "testing"

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
