package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// with changes a URL.
func with(t *testing.T, address string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

// parameter sets a parameter of the query.
func parameter(name, value string) func(*url.URL) {
	return func(u *url.URL) {
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	}
}

// run runs statements as the superuser.
func run(t *testing.T, address string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestWhatIsWrongAtTheStartIsSaidInOneSentence(t *testing.T) {
	const password = "correct horse"
	server := postgrestest.New(t, postgrestest.Options{Password: password})
	ok := server.Database(t)
	name := func(user, secret string) func(*url.URL) {
		return func(u *url.URL) { u.User = url.UserPassword(user, secret) }
	}
	run(t, ok, "CREATE ROLE guest LOGIN PASSWORD 'guest secret'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	newer := server.Schema(t)
	s, err := postgres.Open(t.Context(), newer, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, newer, "UPDATE rq_ledger SET schema = 1000, oldest = 999")
	for _, c := range []struct {
		title, address, want string
		is                   error
	}{
		{"no URL", "postgres://%zz", "is no address of a PostgreSQL database", ruqi.ErrInvalid},
		{"a port that is none", "postgres://a:secret@127.0.0.1:x/b", "is no address of a PostgreSQL database", ruqi.ErrInvalid},
		{"a wrong word for listening", with(t, ok, parameter("ruqi_listen", "perhaps")), `on and off are accepted`, ruqi.ErrInvalid},
		{"nobody listens", with(t, ok, func(u *url.URL) { u.Host = freePort(t) }), "cannot be reached: see that the server runs", ruqi.ErrUnavailable},
		{"a wrong password", with(t, ok, name("postgres", "wrong secret")), "refuses the password", nil},
		{"an unknown user", with(t, ok, name("nobody", "wrong secret")), "refuses the password, or there is no such user", nil},
		{"TLS that the server has not", with(t, ok, parameter("sslmode", "require")), "has no TLS, which the address asks for", nil},
		{"a wrong word for TLS", with(t, ok, parameter("sslmode", "foo")), "sslmode: accepted are disable, allow, prefer, require, verify-ca and verify-full", ruqi.ErrInvalid},
		{"a time that is none", with(t, ok, parameter("connect_timeout", "x")), "connect_timeout: accepted are whole seconds", ruqi.ErrInvalid},
		{"a file that there is not", with(t, ok, parameter("sslrootcert", "/none")), "sslrootcert: cannot be used; see its value, and the file if it names one", ruqi.ErrInvalid},
		{"two parameters that are wrong", with(t, with(t, ok, parameter("sslmode", "foo")), parameter("connect_timeout", "x")), "connect_timeout: accepted are whole seconds", ruqi.ErrInvalid},
		{"a password that looks like parameters", "postgres://ruqi:se?sslmode=secret@127.0.0.1:x/b", "is no address of a PostgreSQL database", ruqi.ErrInvalid},
		{"an unknown parameter", with(t, ok, parameter("foo", "bar")), `does not take a parameter of the address (unrecognized configuration parameter "foo")`, nil},
		{"an unknown parameter after TLS", with(t, with(t, ok, parameter("foo", "bar")), parameter("sslmode", "prefer")), `does not take a parameter of the address (unrecognized configuration parameter "foo")`, nil},
		{"a parameter with a wrong value", with(t, ok, parameter("statement_timeout", "soon")), `does not take a parameter of the address (invalid value for parameter "statement_timeout": "soon")`, nil},
		{"no such database", with(t, ok, func(u *url.URL) { u.Path = "/none" }), "has no such database", nil},
		{"no such schema", with(t, ok, parameter("search_path", "none")), "has no schema in which user postgres may look for tables", nil},
		{"no right to make tables", with(t, ok, name("guest", "guest secret")), `has not the tables of this release, and this user may not make them: run "ruqi store migrate" as the owner (permission denied`, nil},
		{"a server that may not be written", with(t, ok, parameter("default_transaction_read_only", "on")), "cannot be written", nil},
		{"a newer schema", newer, "has schema 1000, which releases that know schema 999 or newer can use", ruqi.ErrSchemaNewer},
	} {
		t.Run(c.title, func(t *testing.T) {
			s, err := postgres.Open(t.Context(), c.address, postgres.Options{StepLimit: 5 * time.Second})
			if err == nil {
				_ = s.Close()
				t.Fatal("it opens")
			}
			text := err.Error()
			if c.is == nil && errors.Is(err, ruqi.ErrUnavailable) && !strings.Contains(text, "cannot be written") {
				t.Errorf("%q says that waiting helps", text)
			}
			if !strings.Contains(text, c.want) || strings.Contains(text, "\n") || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error is %q", text)
			}
			for _, secret := range []string{"secret", "horse"} {
				if strings.Contains(text, secret) {
					t.Errorf("a password is in %q", text)
				}
			}
		})
	}
	run(t, newer, "UPDATE rq_ledger SET oldest = 1")
	s, err = postgres.Open(t.Context(), newer, postgres.Options{})
	if err != nil {
		t.Fatalf("a newer schema that older releases may use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestManyMayOpenANewDatabaseAtOnce(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			s, err := postgres.Open(t.Context(), address, postgres.Options{})
			if err == nil {
				err = s.Close()
			}
			errs[i] = err
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestANewerReleaseEndsTheLeasesOfOlderOnes(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "a"}, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Beat(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	run(t, address, "UPDATE rq_ledger SET schema = 1000, oldest = 1000")
	if _, err := s.Beat(t.Context(), i); !errors.Is(err, ruqi.ErrSchemaNewer) {
		t.Errorf("a heartbeat after the schema went on: %v", err)
	}
}

func TestAStoreKeptAsItIsIsNotChanged(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Schema(t.Context())
	if err != nil || state.Has != 0 || state.Knows == 0 {
		t.Errorf("schema %+v, %v", state, err)
	}
	if _, err := s.Check(t.Context()); !errors.Is(err, ruqi.ErrNotFound) || !strings.HasSuffix(err.Error(), "ruqi store migrate makes one") {
		t.Errorf("check: %v", err)
	}
	if _, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err == nil || !strings.Contains(err.Error(), "ruqi store migrate") {
		t.Errorf("jobs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A standby can be looked at: who only looks writes nothing.
func TestAStoreThatCannotBeWrittenIsLookedAt(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("default_transaction_read_only", "on")
	u.RawQuery = query.Encode()
	if s, err = postgres.Open(t.Context(), u.String(), postgres.Options{KeepSchema: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Append(t.Context(), "k", nil); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("it was written: %v", err)
	}
	if now, err := s.Now(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("its time is %s, %v", now, err)
	}
	if counts, err := s.Count(t.Context()); err != nil || counts.Running != 0 {
		t.Errorf("it has %+v, %v", counts, err)
	}
	if instances, err := s.Instances(t.Context()); err != nil || len(instances) != 0 {
		t.Errorf("it has instances %v, %v", instances, err)
	}
	if faults, err := s.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("its faults are %q, %v", faults, err)
	}
}

func TestCheckFindsWhatIsPlanted(t *testing.T) {
	address := postgrestest.Shared(t).Schema(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	check := func() []string {
		t.Helper()
		faults, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return faults
	}
	if faults := check(); len(faults) > 0 {
		t.Fatalf("a new store has faults: %q", faults)
	}
	const insert = "INSERT INTO rq_run (id, nominal, due, attempt, cause, state, job_id, job_name, task, finished, started) VALUES "
	for _, c := range []struct{ plant, undo, want string }{
		{insert + "(99, now(), now(), 1, 0, 2, 'j', 'j', '', now(), now())", "DELETE FROM rq_run", "there is a run 99"},
		{insert + "(0, now(), now(), 1, 0, 9, 'j', 'j', '', now(), now())", "DELETE FROM rq_run", "is in the state 9"},
		{insert + "(0, now(), now(), 1, 0, 1, 'j', 'j', '', NULL, now())", "DELETE FROM rq_run", "which the store does not know"},
		{insert + "(0, now(), now(), 1, 0, 1, 'j', 'j', '', NULL, NULL)", "DELETE FROM rq_run", "has no time of its start"},
		{insert + "(0, now(), now(), 1, 0, 0, 'j', 'j', '', NULL, NULL)", "DELETE FROM rq_run", "nobody will start it"},
		{insert + "(0, now(), now(), 1, 0, 2, 'j', 'j', '', NULL, NULL)", "DELETE FROM rq_run", "has no time of its end"},
		{"INSERT INTO rq_output VALUES (5, 0, '')", "DELETE FROM rq_output", "output of a run 5"},
		{"INSERT INTO rq_instance VALUES ('a', 77, now(), now(), now(), 0, NULL, '', '', '', NULL, NULL)", "DELETE FROM rq_instance", "epoch 77"},
		{"INSERT INTO rq_definition (id, name, version, created, updated) VALUES ('d', 'd', 1, now(), now())", "DELETE FROM rq_definition", `definition of "d" without a job`},
		{"INSERT INTO rq_job VALUES (1, 'k', 0, '', '', '', 0, 1, NULL, NULL, 0, 1)", "DELETE FROM rq_job", `job "k" has no definition`},
	} {
		run(t, address, c.plant)
		if faults := check(); !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%s: %q", c.plant, faults)
		}
		run(t, address, c.undo)
	}
	for i := range 30 {
		run(t, address, fmt.Sprintf("INSERT INTO rq_output VALUES (%d, 0, '')", i))
	}
	if faults := check(); len(faults) != 11 || faults[10] != "and 20 more faults like the last" {
		t.Errorf("of thirty faults of one kind it tells %q", faults)
	}
	run(t, address, "DELETE FROM rq_output", "DELETE FROM rq_ledger")
	if _, err := s.Check(t.Context()); err == nil {
		t.Error("a store without its ledger passes")
	}
}
