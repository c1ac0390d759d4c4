package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

func TestLaws(t *testing.T) {
	jobstoretest.RunLasting(t, func(t testing.TB) func(jobstoretest.Options) jobstoretest.Store {
		path := filepath.Join(t.TempDir(), "ruqi.db")
		return func(o jobstoretest.Options) jobstoretest.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: o.Now, OutputCap: o.OutputCap})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}
