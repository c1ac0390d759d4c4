package postgres_test

import (
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// open opens a store on the suite's clock.
func open(t testing.TB, url string, o jobstoretest.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenAt(t.Context(), url, postgres.Options{OutputCap: o.OutputCap}, o.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// casesAtOnce keep two cores busy, one at a time hardly more than one: either the case works or its server does. A race has up
// to six handles of nine sessions, and a server has room for 100, or 200 where tests start it.
const casesAtOnce = 2

// turns returns what waits until a case may have its place, which it has until its end.
func turns() func(testing.TB) {
	taken := make(chan struct{}, casesAtOnce)
	return func(t testing.TB) {
		taken <- struct{}{}
		t.Cleanup(func() { <-taken })
	}
}

func TestLaws(t *testing.T) {
	server, turn := postgrestest.Shared(t), turns()
	jobstoretest.RunLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		turn(t)
		url := server.Schema(t)
		return func(o jobstoretest.Options) jobstoretest.Store { return open(t, url, o) }
	})
}

// TestLawsBehindAPooler tries the laws without LISTEN and with nothing kept in sessions, and, as the laws' few jobs never
// would, with pages that are read from the end.
func TestLawsBehindAPooler(t *testing.T) {
	server, turn := postgrestest.Shared(t), turns()
	jobstoretest.RunLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		turn(t)
		url := server.Schema(t)
		if strings.Contains(url, "?") {
			url += "&"
		} else {
			url += "?"
		}
		url += "ruqi_listen=off"
		return func(o jobstoretest.Options) jobstoretest.Store {
			s := open(t, url, o)
			s.CountFirst()
			return s
		}
	})
}
