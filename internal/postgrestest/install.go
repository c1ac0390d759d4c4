package postgrestest

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// errMissing says what a person has to do.
var errMissing = errors.New("the programs initdb and postgres are missing: install PostgreSQL " +
	"(Debian and Ubuntu: apt-get install postgresql), or set " + environment + "=URL to use a server that is there")

// places are where packagers put the programs that are not in PATH, newest first within each.
var places = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // the project's own packages for Red Hat and its kin
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple's processors
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel's
}

// findBin returns the folder of the programs: the first of PATH that has them, or else the newest
// version in a known place.
func findBin(bin string) (string, error) {
	var folders []string
	if bin != "" {
		folders = []string{bin}
	} else {
		folders = filepath.SplitList(os.Getenv("PATH"))
		for _, place := range places {
			found, err := filepath.Glob(place)
			if err != nil {
				return "", err
			}
			slices.SortFunc(found, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
			folders = append(folders, found...)
		}
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

// number is the version in a folder's name: 9 comes before 15.
func number(folder string) int {
	n, err := strconv.Atoi(digits.FindString(folder))
	if err != nil {
		return 0
	}
	return n
}
