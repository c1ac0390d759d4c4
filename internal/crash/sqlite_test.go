//go:build linux

package crash_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// file is the store of a site on SQLite.
func (s *site) file() string { return filepath.Join(s.dir, "ruqi.db") }

// database opens the file as another program would.
func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// sound asks SQLite itself whether the file is. Of other stores their servers take care.
func (s *site) sound(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(s.address, "sqlite:") {
		return
	}
	db := database(t, s.file())
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var said string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("integrity_check: %s, %v", said, err)
	}
}
