package postgrestest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// errMissing says what a person has to do.
var errMissing = errors.New("the programs initdb and postgres are missing: install PostgreSQL " +
	"(Debian and Ubuntu: apt-get install postgresql); tests that need no server of their own also run with " + environment + "=URL")

// places are where packagers put the programs that are not in PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // the project's own packages for Red Hat and its kin
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple's processors
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel's
}

// findBin returns the folder of the programs: the first of the folders of path that has them, or
// else, in the first place that has any, the newest version's.
func findBin(path string, places []string) (string, error) {
	folders := filepath.SplitList(path)
	for _, place := range places {
		found, err := filepath.Glob(place)
		if err != nil {
			return "", fmt.Errorf("look for PostgreSQL: %w", err)
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		if has(folder, "initdb") && has(folder, "postgres") {
			return filepath.Abs(folder)
		}
	}
	return "", errMissing
}

func has(folder, program string) bool {
	info, err := os.Stat(filepath.Join(folder, program))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var digits = regexp.MustCompile(`[0-9]+`)

// version is the last number in a folder's name: 9 comes before 15.
func version(folder string) int {
	all := digits.FindAllString(folder, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(all[len(all)-1])
	if err != nil {
		return 0
	}
	return n
}
