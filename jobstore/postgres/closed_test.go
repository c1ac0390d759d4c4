package postgres

import (
	"errors"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// A session that ends while its connection is about to forget statements that have failed before is an outage as any other: whoever is told so
// tries again, and records no failure of a run that succeeded.
func TestASessionThatEndsBetweenStepsIsAnOutage(t *testing.T) {
	s, err := Open(t.Context(), postgrestest.Shared(t).Schema(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range 10 {
		conn, err := pgx.ConnectConfig(t.Context(), s.address.config.ConnConfig.Copy())
		if err != nil {
			t.Fatal(err)
		}
		failing := &pgx.Batch{}
		failing.Queue("SELECT 1/$1::int", 0)
		if err := conn.SendBatch(t.Context(), failing).Close(); err == nil {
			t.Fatal("a division by zero was answered")
		}
		exec(t, s, "SELECT pg_terminate_backend("+strconv.Itoa(int(conn.PgConn().PID()))+", 5000)")
		b := &pgx.Batch{}
		b.Queue("SELECT 1")
		err = s.translate(t.Context(), "step", conn.SendBatch(t.Context(), b).Close())
		if !errors.Is(err, ruqi.ErrUnavailable) {
			t.Fatalf("it is told as %v", err)
		}
		_ = conn.Close(t.Context())
	}
}
