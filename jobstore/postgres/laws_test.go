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

func TestLaws(t *testing.T) {
	server := postgrestest.Shared(t)
	jobstoretest.RunLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		url := server.Schema(t)
		return func(o jobstoretest.Options) jobstoretest.Store { return open(t, url, o) }
	})
}

// TestLawsBehindAPooler tries the laws without LISTEN and with nothing kept in sessions.
func TestLawsBehindAPooler(t *testing.T) {
	server := postgrestest.Shared(t)
	jobstoretest.RunLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		url := server.Schema(t)
		if strings.Contains(url, "?") {
			url += "&"
		} else {
			url += "?"
		}
		url += "ruqi_listen=off"
		return func(o jobstoretest.Options) jobstoretest.Store { return open(t, url, o) }
	})
}
