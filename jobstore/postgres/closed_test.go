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
		pid := strconv.Itoa(int(conn.PgConn().PID()))
		exec(t, s, "SELECT pg_terminate_backend("+pid+")")
		// From PostgreSQL 14 on the function would wait itself.
		exec(t, s, "DO $$ BEGIN FOR i IN 1..500 LOOP EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = "+pid+"); PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$")
		b := &pgx.Batch{}
		b.Queue("SELECT 1")
		err = s.translate(t.Context(), "step", conn.SendBatch(t.Context(), b).Close())
		if !errors.Is(err, ruqi.ErrUnavailable) {
			t.Fatalf("it is told as %v", err)
		}
		_ = conn.Close(t.Context())
	}
}
