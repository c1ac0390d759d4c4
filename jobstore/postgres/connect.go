package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// leastServer is the oldest server that has all that the statements use (version_num): PostgreSQL 12.
const leastServer = 120000

const sqlServer = `SELECT current_setting('server_version_num')::integer, current_setting('server_version'), pg_is_in_recovery(),
	coalesce(current_schema(), ''), current_setting('search_path'), current_user`

// connect opens the pools and looks at the server with a first connection.
func (s *Store) connect(ctx context.Context) error {
	var err error
	if s.engine, err = pgxpool.NewWithConfig(ctx, s.address.poolConfig(engineConns)); err != nil {
		return s.translate(ctx, "open", err)
	}
	if s.front, err = pgxpool.NewWithConfig(ctx, s.address.poolConfig(frontConns)); err != nil {
		return s.translate(ctx, "open", err)
	}
	var number int
	var version, schema, path, user string
	var standby bool
	err = s.oneRow(ctx, sqlServer, nil, func(row pgx.Row) error {
		return row.Scan(&number, &version, &standby, &schema, &path, &user)
	})
	switch {
	case refusesParameter(err) && s.address.listen: // those that the store makes, for all it knows
		return fmt.Errorf("open: %s refuses the settings of a session: behind a pooler add %s=off to the address (%w)", s.Location(), listenParameter, &reason{err})
	case refusesOwnParameter(err):
		return fmt.Errorf("open: %s does not take a parameter of the address (%w)", s.Location(), &reason{err})
	case refusesTLS(err) && s.address.wantsTLS():
		return fmt.Errorf("open: %s has no TLS, which the address asks for: turn it on in the server (ssl = on), or say sslmode=prefer where nobody can listen (%w)", s.Location(), &reason{err})
	case err != nil:
		return s.translate(ctx, "open", err)
	case number < leastServer:
		return fmt.Errorf("open: %s is PostgreSQL %s; 12 or newer is needed", s.Location(), version)
	case standby:
		return fmt.Errorf("open: %s is a standby, which cannot be written: name the primary (with several hosts: target_session_attrs=read-write)", s.Location())
	case schema == "":
		return fmt.Errorf("open: %s has no schema in which user %s may look for tables (search_path is %s): create one, or name another with search_path=", s.Location(), user, path)
	}
	return nil
}
