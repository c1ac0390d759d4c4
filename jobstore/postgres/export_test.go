package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ruqi-dev/ruqi"
)

// OpenAt opens a store whose clock is now in place of the server's.
func OpenAt(ctx context.Context, url string, options Options, now func() time.Time) (*Store, error) {
	options.now = now
	return Open(ctx, url, options)
}

// CountFirst has the jobs counted before each page of an offset.
func (s *Store) CountFirst() { s.farOffset = 1 }

// TransactionSettings are those that every transaction has.
var TransactionSettings = transactionSettings

// Told is what a query of one text column tells in each of the ways in which statements go: beside a step, in one, in a page.
func (s *Store) Told(ctx context.Context, sql string) (map[string][]string, error) {
	told := map[string][]string{}
	into := func(way string, b *pgx.Batch) {
		queue(b, sql, nil, func(rows pgx.Rows) error {
			var text string
			err := rows.Scan(&text)
			told[way] = append(told[way], text)
			return err
		})
	}
	for way, pool := range map[string]*pgxpool.Pool{"look of the engine": s.engine, "look of the front": s.front} {
		b := &pgx.Batch{}
		into(way, b)
		if err := s.look(ctx, pool, b); err != nil {
			return nil, err
		}
	}
	if err := s.read(ctx, "tell", func(b *pgx.Batch) { into("page", b) }); err != nil {
		return nil, err
	}
	return told, s.write(ctx, s.engine, "tell", func(st *step) error {
		if err := st.start(func(b *pgx.Batch) { into("first batch of a step", b) }); err != nil {
			return err
		}
		b := &pgx.Batch{}
		into("last batch of a step", b)
		return st.commit(b)
	})
}

// LookPlan is the plan of the look of a claim, as it runs.
func (s *Store) LookPlan(ctx context.Context, request ruqi.ClaimRequest) (lines []string, err error) {
	b := &pgx.Batch{}
	claimStatement{"EXPLAIN (ANALYZE, COSTS) " + sqlLook.sql, sqlLook.params}.queue(b, newWant(request).values(s), func(rows pgx.Rows) error {
		var line string
		err := rows.Scan(&line)
		lines = append(lines, line)
		return err
	})
	return lines, s.look(ctx, s.engine, b)
}
