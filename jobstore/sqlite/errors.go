package sqlite

import (
	"errors"
	"fmt"

	"github.com/ruqi-dev/ruqi"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var errClosed = errors.New("the store is closed")

// translate turns an error of the driver into a sentence for the user. Errors
// that may be gone with the next call wrap ruqi.ErrUnavailable; the caller has made
// sure that nothing was written. Other errors pass through.
func (s *Store) translate(what string, err error) error {
	if err == nil {
		return nil
	}
	var coded *sqlite.Error
	if !errors.As(err, &coded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	sentence, again := explain(coded.Code() & 0xff)
	if sentence == "" {
		return fmt.Errorf("%s: sqlite %s: %w", what, s.path, err)
	}
	if again {
		return fmt.Errorf("%s: sqlite %s %s: %w (%w)", what, s.path, sentence, ruqi.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: sqlite %s %s (%w)", what, s.path, sentence, err)
}

// explain says what a result code of SQLite means for the user, and whether the
// same call may succeed later. An unknown code has no sentence.
func explain(code int) (sentence string, again bool) {
	switch code {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return "is locked by another process that does not let go", true
	case lib.SQLITE_FULL:
		return "cannot grow: the disk is full; make room and go on", true
	case lib.SQLITE_READONLY:
		return "cannot be written: the file, its folder or the file system is read-only; make them writable for this user", true
	case lib.SQLITE_CANTOPEN:
		return "cannot be opened: see that its folder exists and is open to this user", true
	case lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return "may not be opened by this user", true
	case lib.SQLITE_IOERR:
		return "cannot be read or written: the disk reports an error", true
	case lib.SQLITE_NOMEM:
		return "needs more memory than there is", true
	case lib.SQLITE_CORRUPT:
		return "is damaged: stop, keep a copy, and restore a backup (or try the sqlite3 program's .recover)", false
	case lib.SQLITE_NOTADB:
		return "is not an SQLite database: name another file", false
	}
	return "", false
}
