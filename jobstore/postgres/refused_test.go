package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// A login that is refused after the start counts as a server that is away: nothing is lost for it, and when the operator has
// mended it the same store goes on.
func TestALoginRefusedAtRunTimeIsAnOutage(t *testing.T) {
	server := postgrestest.New(t, postgrestest.Options{Password: "of the superuser"})
	direct := server.Database(t)
	run(t, direct, "CREATE ROLE guest LOGIN PASSWORD 'secret'", "CREATE SCHEMA guest AUTHORIZATION guest")
	address := with(t, direct, func(u *url.URL) { u.User = url.UserPassword("guest", "secret") })
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "a"}, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]func() error{
		"heartbeat": func() error { _, err := s.Beat(t.Context(), i); return err },
		"look": func() error {
			_, err := s.Claim(t.Context(), ruqi.ClaimRequest{Owner: i.Owner, Slots: map[string]int{"default": 1}, Needs: []string{"x"}}, nil)
			return err
		},
		"page":   func() error { _, err := s.Jobs(t.Context(), ruqi.JobQuery{}); return err },
		"append": func() error { _, err := s.Append(t.Context(), "log", []byte("x")); return err },
	}
	for _, c := range []struct{ title, refuse, allow, want string }{
		{"a password that was changed", "ALTER ROLE guest PASSWORD 'another'", "ALTER ROLE guest PASSWORD 'secret'", "refuses the password"},
		{"a role that may not log in", "ALTER ROLE guest NOLOGIN", "ALTER ROLE guest LOGIN", "does not let this user in from here"},
		{"a database that it may not connect to", "ALTER DATABASE " + nameOf(t, direct) + " CONNECTION LIMIT 0", "ALTER DATABASE " + nameOf(t, direct) + " CONNECTION LIMIT -1", "has no connection left"},
	} {
		t.Run(c.title, func(t *testing.T) {
			run(t, direct, c.refuse)
			for what, step := range steps {
				terminate(t, direct)
				// A connection that was cut is noticed by the first who uses it.
				until(t, patience, what+" is refused", func() bool {
					err := step()
					if err == nil || !errors.Is(err, ruqi.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
						t.Fatalf("%s: %v", what, err)
					}
					return strings.Contains(err.Error(), c.want)
				})
			}
			run(t, direct, c.allow)
			for what, step := range steps {
				if err := step(); err != nil {
					t.Errorf("%s when it is allowed again: %v", what, err)
				}
			}
		})
	}
}

// nameOf is the name of an address's database.
func nameOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}
