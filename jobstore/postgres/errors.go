package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ruqi-dev/ruqi"
)

// Codes of PostgreSQL that mean something here (its manual, appendix A).
const (
	codeProtocol          = "08P01"
	codeNoParameter       = "42704"
	codeUniqueViolation   = "23505"
	codeSerialization     = "40001"
	codeDeadlock          = "40P01"
	codeLockTimeout       = "55P03"
	codeInvalidParameter  = "22023"
	codeWrongPassword     = "28P01"
	codeNotAllowed        = "28000"
	codeNoDatabase        = "3D000"
	codeNoRight           = "42501"
	codeNoTable           = "42P01"
	codeNoColumn          = "42703"
	codeReadOnly          = "25006"
	codeNoSchema          = "3F000"
	codeTooManyConns      = "53300"
	codeDiskFull          = "53100"
	codeAdminShutdown     = "57P01"
	codeCrashShutdown     = "57P02"
	codeCannotConnectNow  = "57P03"
	codeStatementTimeout  = "57014"
	codeIdleInTransaction = "25P03"
)

// metAnother reports whether a step failed since it met another one, and may begin anew.
func metAnother(err error) bool {
	var answered *pgconn.PgError
	if !errors.As(err, &answered) {
		return false
	}
	switch answered.Code {
	case codeUniqueViolation, codeSerialization, codeDeadlock:
		return true
	}
	return false
}

// translate turns an error of the driver into a sentence for the user. Errors that may be gone with the next
// call wrap ruqi.ErrUnavailable; the caller has made sure that nothing was written.
func (s *Store) translate(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	var own *asIs
	if errors.As(err, &own) {
		return fmt.Errorf("%s: %w", what, own.err)
	}
	var open *unsettled
	if errors.As(err, &open) {
		return fmt.Errorf("%s: %s: %w", what, s.Location(), open)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	sentence, again := explain(err)
	var gone *unavailable
	if errors.As(err, &gone) { // whatever the reason, nothing has happened, and it may be mended: a password, a right
		again = true
		if sentence == "" {
			sentence = "does not answer"
		}
	}
	switch {
	case sentence == "":
		return fmt.Errorf("%s: %s: %w", what, s.Location(), err)
	case again:
		return fmt.Errorf("%s: %s %s: %w (%w)", what, s.Location(), sentence, ruqi.ErrUnavailable, &reason{err})
	default:
		return fmt.Errorf("%s: %s %s (%w)", what, s.Location(), sentence, &reason{err})
	}
}

// A reason is an error of the driver, said in a few words: what it adds of hosts and users stands in the sentence before it.
type reason struct{ err error }

func (r *reason) Unwrap() error { return r.err }

func (r *reason) Error() string {
	err := r.err
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return answered.Message
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// explain says what an error means for the user, and whether the same call may succeed
// later. An unknown error has no sentence.
func explain(err error) (sentence string, again bool) {
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return explainCode(answered)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect):
		return "cannot be reached: see that the server runs, that the address is right and that no firewall stands between", true
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, context.DeadlineExceeded), pgconn.SafeToRetry(err), pgconn.Timeout(err):
		return "does not answer", true
	}
	return "", false
}

// poolerParameter is what PgBouncer says of a parameter that it does not know.
const poolerParameter = "unsupported startup parameter"

// refusesParameter reports whether a pooler did not take the parameters of a connection.
func refusesParameter(err error) bool {
	var answered *pgconn.PgError
	return errors.As(err, &answered) && answered.Code == codeProtocol && strings.HasPrefix(answered.Message, poolerParameter)
}

// refusesOwnParameter reports whether the server itself did not take a parameter of a connection, by name or value.
func refusesOwnParameter(err error) bool {
	var connect *pgconn.ConnectError
	var answered *pgconn.PgError
	return errors.As(err, &connect) && errors.As(err, &answered) && (answered.Code == codeNoParameter || answered.Code == codeInvalidParameter)
}

// refusesTLS reports whether the server has no TLS. The driver has no type for that, but these words.
func refusesTLS(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) && strings.Contains(connect.Error(), "server refused TLS connection")
}

// missingRight returns what the server said of a right that this user does not have.
func missingRight(err error) (answered *pgconn.PgError, missing bool) {
	missing = errors.As(err, &answered) && answered.Code == codeNoRight
	return answered, missing
}

// poolerSays tells apart what PgBouncer says, the first that fits, by words: it has one code for everything, also for what
// the server told it of a login. In another language of the server that is cannotNow.
var poolerSays = []struct {
	words, sentence string
	again           bool
}{
	{poolerParameter, "refuses a parameter of the address; give it to the role or the database instead", false},
	{"no such database", noDatabaseInPooler, false},
	{`role "`, refusesLogin, false},
	{"does not exist", noDatabaseInPooler, false},
	{"no such user", refusesLogin, false},
	{"authentication failed", refusesLogin, false},
	{"no more connections allowed", "has no connection left in its pooler: raise max_client_conn there or use fewer instances", true},
	{"server login", poolerWithoutServer, true}, // has been failing; server_login_retry
	{"cannot connect to server", poolerWithoutServer, true},
	{"query_wait_timeout", "has a pooler that had no session left in time: see that its server runs, or give it more (default_pool_size)", true},
	{"the database system is", stoppingOrStarting, true},
}

const (
	noDatabaseInPooler  = "has no such database, or its pooler does not know it: create it (CREATE DATABASE), name another, or tell the pooler of it"
	poolerWithoutServer = "has a pooler that cannot reach the server: see that the server runs, and what the pooler's log says"
	refusesLogin        = "refuses the password, or there is no such user"
	stoppingOrStarting  = "is stopping or starting"
	cannotNow           = "cannot do this now" // what an operator can mend
)

func explainPooler(message string) (sentence string, again bool) {
	for _, p := range poolerSays {
		if strings.Contains(message, p.words) {
			return p.sentence, p.again
		}
	}
	return cannotNow, true
}

// explainCode does the same for what the server itself said.
func explainCode(e *pgconn.PgError) (sentence string, again bool) {
	switch e.Code {
	case codeProtocol:
		return explainPooler(e.Message)
	case codeWrongPassword:
		return refusesLogin, false
	case codeNotAllowed:
		return "does not let this user in from here: see the user's name, TLS (sslmode) and the server's pg_hba.conf", false
	case codeNoDatabase:
		return "has no such database: create it (CREATE DATABASE) or name another", false
	case codeNoSchema:
		return "has no schema in which tables could be made: create the one that the search path names", false
	case codeNoRight:
		return "does not give this user a right that is needed: as its owner, GRANT USAGE, CREATE ON SCHEMA to it, and all rights on tables that begin with rq_", true
	case codeNoTable, codeNoColumn:
		return "lacks tables of this release: run ruqi store migrate", true
	case codeReadOnly:
		return "cannot be written: it is a standby or set to read-only; name the primary (with several hosts: target_session_attrs=read-write)", true
	case codeTooManyConns:
		return "has no connection left: raise max_connections or use fewer instances", true
	case codeDiskFull:
		return "cannot grow: its disk is full; make room and go on", true
	case codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow:
		return stoppingOrStarting, true
	case codeLockTimeout, codeStatementTimeout, codeIdleInTransaction:
		return "is held up by another client that does not let go", true
	case codeSerialization, codeDeadlock, codeUniqueViolation:
		return "had other steps in the way of this one, again and again", true
	}
	if len(e.Code) != 5 {
		return "", false
	}
	switch e.Code[:2] {
	case "22", "23", "42": // data, constraints, the statement: the same call fails again
		return "", false
	case "XX":
		return "is damaged or meets a fault of its own: see its log", true
	}
	return cannotNow, true
}
