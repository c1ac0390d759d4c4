package sqlstore

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Migrations returns the texts of a store's migrations. They are the files migrations/NNNN_word.sql, are applied in the
// order of their names, each once, and are never changed after a release. The first brings schema 0 to 1; the number of the
// last one is the newest schema that the release knows.
func Migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(names))
	for i, name := range names {
		if !strings.HasPrefix(path.Base(name), fmt.Sprintf("%04d_", i+1)) {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}
