package postgres

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// A look into the catalog itself: to_regclass may still know what was so before the step waited for the lock.
const sqlHasLedger = `SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'rq_ledger' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))`
const sqlSchema = `SELECT schema, oldest FROM rq_ledger WHERE one = 1`
const sqlSetSchema = `UPDATE rq_ledger SET schema = $1 WHERE one = 1`

// migrationLimit bounds one that hangs: far more than the largest database takes to be brought up.
const migrationLimit = 24 * time.Hour

// A migration takes as long as it takes, and so does the wait for another's.
const sqlNoLimits = `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`

// The lock of migrations: one at a time in a schema. Its first half is "Ruqi" in ASCII.
const sqlLockSchema = `SELECT pg_advisory_xact_lock(1383428457, hashtext(current_schema()))`

// Schema tells the schema of the database, and those that this release can work on.
func (s *Store) Schema(ctx context.Context) (ruqi.SchemaState, error) {
	state := ruqi.SchemaState{Knows: s.schema}
	has := false
	err := s.oneRow(ctx, sqlHasLedger, nil, func(row pgx.Row) error { return row.Scan(&has) })
	if err == nil && has {
		err = s.oneRow(ctx, sqlSchema, nil, func(row pgx.Row) error { return row.Scan(&state.Has, &state.Oldest) })
	}
	return state, s.translate(ctx, "schema", err)
}

// prepareSchema brings the schema up to this release, or refuses one that is too new. Several
// instances may do so at once: one does the work and the others find it done.
func (s *Store) prepareSchema(ctx context.Context, keep bool) error {
	texts, err := sqlstore.Migrations(migrationFiles)
	if err != nil {
		return err
	}
	s.schema = len(texts)
	state, err := s.Schema(ctx)
	switch {
	case err != nil:
		return err
	case state.Oldest > s.schema:
		return s.tooNew("open", state)
	case keep || state.Has >= s.schema:
		return nil
	}
	err = s.writeWithin(ctx, migrationLimit, s.engine, "migrate", func(st *step) error {
		has := false
		err := st.start(func(b *pgx.Batch) {
			b.Queue(sqlNoLimits)
			b.Queue(sqlLockSchema)
			b.Queue(sqlHasLedger).QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
		})
		if err != nil {
			return err
		}
		state.Has = 0
		if has {
			err := st.query(sqlSchema, nil, func(rows pgx.Rows) error { return rows.Scan(&state.Has, &state.Oldest) })
			if err != nil {
				return err
			}
		}
		for n := state.Has; n < len(texts); n++ {
			// A text of several statements goes as it is, without preparing.
			if _, err := st.conn.PgConn().Exec(st.ctx, texts[n]).ReadAll(); err != nil {
				return fmt.Errorf("migration %d: %w", n+1, err)
			}
			if _, err := st.conn.Exec(st.ctx, sqlSetSchema, n+1); err != nil {
				return fmt.Errorf("migration %d: %w", n+1, err)
			}
		}
		return st.commit(nil)
	})
	if answered, missing := missingRight(err); missing { // waiting gives none: this is no outage
		return fmt.Errorf("open: %s has not the tables of this release, and this user may not make them: run \"ruqi store migrate\" as the owner (%w)", s.Location(), &reason{answered})
	}
	if err != nil {
		return err
	}
	// Connections that looked at the database before it had tables are of no use.
	s.engine.Reset()
	s.front.Reset()
	return nil
}

// tooNew says that the database was written by a newer release.
func (s *Store) tooNew(what string, state ruqi.SchemaState) error {
	return fmt.Errorf("%s: %s has schema %d, which releases that know schema %d or newer can use, and this release knows schemas up to %d: start the release that wrote it or a newer one, or restore the backup made before the upgrade: %w",
		what, s.Location(), state.Has, state.Oldest, s.schema, ruqi.ErrSchemaNewer)
}
