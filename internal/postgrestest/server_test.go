package postgrestest_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(postgrestest.Main(m))
}

// connect connects for the time of a test.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// do runs statements that must work.
func do(t testing.TB, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// one returns the one value that a query selects.
func one[T any](t testing.TB, c *pgx.Conn, query string) T {
	t.Helper()
	var value T
	if err := c.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func TestAServerThatEndedKeepsWhatWasCommitted(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{})
	port := s.Port()
	do(t, connect(t, s.URL()), "CREATE TABLE kept (end_of text)")
	for i, c := range []struct {
		title string
		end   func(*postgrestest.Server)
	}{
		{"killed", (*postgrestest.Server).Kill},
		{"stopped", (*postgrestest.Server).Stop},
		{"killed while it was paused", func(s *postgrestest.Server) { s.Pause(); s.Kill() }},
		{"stopped while it was paused", func(s *postgrestest.Server) { s.Pause(); s.Stop() }},
	} {
		t.Run(c.title, func(t *testing.T) {
			before := connect(t, s.URL())
			do(t, before, "INSERT INTO kept VALUES ('"+c.title+"')")
			c.end(s)
			s.Kill() // what is down stays down
			s.Stop()
			if _, err := before.Exec(t.Context(), "SELECT 1"); err == nil {
				t.Error("a connection lived on")
			}
			s.Start()
			if s.Port() != port {
				t.Errorf("the port was %d and is %d", port, s.Port())
			}
			if n := one[int](t, connect(t, s.URL()), "SELECT count(*) FROM kept"); n != i+1 {
				t.Errorf("%d rows are left of %d", n, i+1)
			}
		})
	}
}

func TestAPausedServerAnswersNobody(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{})
	c := connect(t, s.URL())
	s.Pause()
	answer := make(chan error, 1)
	go func() { answer <- c.Ping(t.Context()) }()
	// 300 ms: a hundred times what an answer takes. More could be asked for, never enough.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if late, err := pgx.Connect(ctx, s.URL()); err == nil {
		t.Error("it takes a connection")
		_ = late.Close(context.Background())
	}
	select {
	case err := <-answer:
		t.Fatalf("it answers: %v", err)
	default:
	}
	s.Continue()
	select {
	case err := <-answer:
		if err != nil {
			t.Errorf("what was asked meanwhile fails: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("what was asked meanwhile is never answered")
	}
	do(t, connect(t, s.URL()), "SELECT 1")
}

func TestOptions(t *testing.T) {
	const password = "p@ss/wörd 'x"
	s := postgrestest.New(t, postgrestest.Options{
		Password: password, Fsync: true,
		Settings: map[string]string{"max_connections": "17", "application_name": "with 'quotes' and = signs"},
	})
	c := connect(t, s.URL())
	for name, want := range map[string]string{
		"fsync": "on", "max_connections": "17", "server_encoding": "UTF8",
		"listen_addresses": "127.0.0.1", "application_name": "with 'quotes' and = signs",
	} {
		if got := one[string](t, c, "SHOW "+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	config := c.Config().Copy()
	config.Password = "another"
	if other, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		t.Error("a wrong password is taken")
		_ = other.Close(context.Background())
	}
	if text := s.Log(); !strings.Contains(text, "password authentication failed") || strings.Contains(text, "creating directory") {
		t.Errorf("the log does not tell of the wrong password, or of other things than the server:\n%s", text)
	}
	d := connect(t, postgrestest.New(t, postgrestest.Options{}).URL())
	if got := one[string](t, d, "SHOW fsync") + one[string](t, d, "SHOW synchronous_commit"); got != "offon" {
		t.Errorf("fsync and synchronous_commit are %s, want off and on: a commit must reach the kernel, not the disk", got)
	}
}

func TestAPortThatIsTakenIsNotTheEnd(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ports := []int{taken.Addr().(*net.TCPAddr).Port, free.Addr().(*net.TCPAddr).Port}
	free.Close()
	asked := 0
	s := postgrestest.NewOnPorts(t, func() (int, error) {
		asked++
		return ports[min(asked, len(ports))-1], nil
	})
	if asked != 2 || s.Port() != ports[1] {
		t.Errorf("it asked for %d ports of %v and has %d", asked, ports, s.Port())
	}
	r := record(func(r testing.TB) {
		asked = 0
		postgrestest.NewOnPorts(r, func() (int, error) { asked++; return ports[0], nil })
	})
	if !r.failed || asked != 10 || !strings.Contains(r.text.String(), "the port is taken") {
		t.Errorf("it asked %d times for a port that is taken, want 10, and said %s", asked, r.text.String())
	}
}

// TestFailuresSayWhatIsWrong has a test that fails by each, and looks at what it says.
func TestFailuresSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		title, says string
		test        func(testing.TB)
	}{
		{"missing programs", "install PostgreSQL (Debian and Ubuntu: apt-get install postgresql); tests that need no server of their own also run with RUQI_TEST_POSTGRES=URL", func(r testing.TB) {
			postgrestest.New(r, postgrestest.Options{Bin: t.TempDir()})
		}},
		{"a setting that is none", `unrecognized configuration parameter "nonsense"`, func(r testing.TB) {
			postgrestest.New(r, postgrestest.Options{Settings: map[string]string{"nonsense": "1"}})
		}},
		{"a start of what runs", "start postgres: it runs already", func(r testing.TB) {
			postgrestest.New(r, postgrestest.Options{}).Start()
		}},
		{"a pause of what is down", "pause postgres: it does not run", func(r testing.TB) {
			s := postgrestest.New(r, postgrestest.Options{})
			s.Stop()
			s.Pause()
		}},
		{"a kill of the shared server", "kill postgres: others use the shared server", func(r testing.TB) {
			postgrestest.Shared(r).Kill()
		}},
		{"a test that fails shows the log", "the log of postgres ends with", func(r testing.TB) {
			postgrestest.New(r, postgrestest.Options{})
			r.Fatal("something is wrong")
		}},
		{"it shows that of the shared server", "an error to be found in the log", func(r testing.TB) {
			c := connect(t, postgrestest.Shared(r).URL())
			do(t, c, "DO $$ BEGIN RAISE LOG 'an error to be found in the log'; END $$")
			r.Fatal("something is wrong")
		}},
	} {
		t.Run(c.title, func(t *testing.T) {
			r := record(c.test)
			if !r.failed || !strings.Contains(r.text.String(), c.says) {
				t.Errorf("failed is %v, and it says\n%s\nwithout %q", r.failed, r.text.String(), c.says)
			}
		})
	}
}
