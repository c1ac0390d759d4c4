package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// While a release is rolled out, older programs go on with a file that a newer one has brought up. A migration under which
// they would fail, or do harm, must say so by raising rq_ledger.oldest to its own number.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

const sqlHasLedger = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'rq_ledger'`
const sqlTables = `SELECT count(*) FILTER (WHERE name = 'rq_ledger'), count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`
const sqlSchema = `SELECT schema FROM rq_ledger WHERE one = 1`
const sqlOldest = `SELECT oldest FROM rq_ledger WHERE one = 1`
const sqlSetSchema = `UPDATE rq_ledger SET schema = ? WHERE one = 1`

// schemaOf reads the number of the file's schema, and the oldest whose programs may work on it. Both are 0 in a new file.
func schemaOf(c *conn) (has, oldest int64, err error) {
	if n, err := c.count(sqlHasLedger); err != nil || n == 0 {
		return 0, 0, err
	}
	if has, err = c.count(sqlSchema); err != nil {
		return 0, 0, err
	}
	const firstWithOldest = 2
	if has < firstWithOldest {
		return has, 1, nil
	}
	oldest, err = c.count(sqlOldest)
	return has, oldest, err
}

// migrate brings the schema up to this release, or refuses one that is too new for it. Several
// processes may do so at once: one does the work and the others find it done.
func (s *Store) migrate(ctx context.Context, c *conn) error {
	texts, err := sqlstore.Migrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := s.useWAL(ctx, c); err != nil {
		return err
	}
	has, oldest, err := schemaOf(c)
	switch {
	case err != nil:
		return err
	case oldest > s.schema:
		return s.tooNew(has)
	case has >= s.schema:
		return nil
	}
	if err := begin(ctx, c); err != nil {
		return err
	}
	if err := s.applyMigrations(c, texts); err != nil {
		return errors.Join(err, rollback(c))
	}
	_, err = c.exec(sqlCommit)
	return err
}

// applyMigrations runs inside a write transaction, where no other process migrates.
func (s *Store) applyMigrations(c *conn, texts []string) error {
	has, oldest, err := schemaOf(c)
	if err != nil {
		return err
	}
	if oldest > s.schema {
		return s.tooNew(has) // another process was faster
	}
	for n := has; n < int64(len(texts)); n++ {
		if err := c.script(texts[n]); err != nil {
			return fmt.Errorf("migration %d: %w", n+1, err)
		}
		if _, err := c.exec(sqlSetSchema, n+1); err != nil {
			return fmt.Errorf("migration %d: %w", n+1, err)
		}
	}
	return nil
}

// tooNew says that the file was written by a newer release, and is not for this one any more.
func (s *Store) tooNew(has int64) error {
	return fmt.Errorf("sqlite: %s has schema %d, and this release knows schemas up to %d: start the release that wrote it or a newer one, or restore the backup made before the upgrade: %w",
		s.path, has, s.schema, ruqi.ErrSchemaNewer)
}

// refuseForeign refuses a file in which another program keeps tables.
func (s *Store) refuseForeign(c *conn) error {
	var ledger, all int64
	if _, err := c.one(sqlTables, nil, func(r row) { ledger, all = r.int(0), r.int(1) }); err != nil || ledger > 0 || all == 0 {
		return err
	}
	return fmt.Errorf("sqlite: %s is the database of another program: name another file", s.path)
}

// useWAL turns the write-ahead log on, which the file then remembers, unless the file is another program's. SQLite
// does not wait for locks here by itself, so this asks again.
func (s *Store) useWAL(ctx context.Context, c *conn) error {
	const pause = 10 * time.Millisecond // another process turns it on in about one
	deadline := time.NewTimer(s.busy)
	defer deadline.Stop()
	for {
		var mode string
		err := s.refuseForeign(c)
		if err == nil {
			_, err = c.one("PRAGMA journal_mode = WAL", nil, func(r row) { mode = r.text(0) })
		}
		if err == nil && mode == "wal" {
			return nil
		}
		var coded *sqlite.Error
		if err != nil && !(errors.As(err, &coded) && coded.Code()&0xff == lib.SQLITE_BUSY) {
			return err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-deadline.C:
			again.Stop()
			if err == nil {
				err = fmt.Errorf("the write-ahead log cannot be turned on: the journal mode stays %q", mode)
			}
			return err
		}
	}
}
