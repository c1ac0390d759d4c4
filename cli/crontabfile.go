package cli

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ruqi-dev/ruqi/cli/crontab"
)

// A crontabFile is a table that was found, and what its place says of it.
type crontabFile struct {
	path   string // empty: standard input
	shown  string
	source string
	system bool
	user   string // of a table in a spool, named after its user
	listed bool   // it was found in a folder, and not named itself
	from   string // its place, by which it is known again: an absolute path, or whose standard input it is
}

// name is what readInput opens.
func (t *crontabFile) name() string {
	if t.path == "" {
		return "-"
	}
	return t.path
}

// cronName are names that cron reads in cron.d: no dots, so that neither backups nor what a package manager leaves are jobs.
var cronName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// findCrontabs lists the tables that the names stand for. unread counts what would have been one and cannot be.
func (a *app) findCrontabs(names []string, f *crontabFlags) (tables []crontabFile, unread int, err error) {
	for _, name := range names {
		if name == "-" {
			source := crontab.IDPart(f.user)
			tables = append(tables, crontabFile{shown: shownInput(name), source: source, system: f.system, from: placeOf(inputOf(f.user))})
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, 0, usage("%v", err)
		}
		if !info.IsDir() {
			tables = append(tables, tableAt(name, f))
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, 0, usage("%v", err)
		}
		before := len(tables)
		for _, entry := range entries {
			path := filepath.Join(name, entry.Name())
			table := tableAt(path, f)
			info, err := os.Stat(path)
			switch {
			case err != nil:
				a.say("%s: %v", path, errors.Unwrap(err))
				unread++
			case table.user == "" && !cronName.MatchString(entry.Name()) || strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "tmp."):
				a.say("%s: passed over: cron reads no file of that name in a folder; named by itself it is read", path)
			case !info.Mode().IsRegular():
				a.say("%s: passed over: no regular file", path)
			default:
				table.listed = true
				tables = append(tables, table)
			}
		}
		if len(tables) == before {
			a.say("%s: there is no table in it", name)
		}
	}
	return tables, unread, nil
}

// tableAt says what the path of a table tells of it: those in a folder cron.d and etc/crontab name users in their lines, those in the
// spool of cron are each the user's whose name they have.
func tableAt(path string, f *crontabFlags) crontabFile {
	base := filepath.Base(path)
	t := crontabFile{path: path, shown: path, source: crontab.IDPart(strings.TrimSuffix(base, ".crontab"))}
	whole, err := filepath.Abs(path)
	if err != nil {
		whole = path
	}
	t.from = placeOf(whole)
	dir := filepath.ToSlash(filepath.Dir(whole))
	t.system = base == "crontab" && filepath.Base(dir) == "etc" || filepath.Base(dir) == "cron.d"
	for _, spool := range []string{"/spool/cron", "/cron/crontabs", "/cron/tabs"} {
		if strings.HasSuffix(dir, spool) {
			t.user = base
		}
	}
	if f.systemGiven {
		t.system = f.system
	}
	return t
}

// placeOf is a place as a label holds it: its end, where it is longer.
func placeOf(path string) string {
	text := []rune(escape(path))
	if n := len(text) - longestSet; n > 0 {
		text = text[n:]
	}
	return string(text)
}

// inputOf says whose table standard input is: that of the user who was named, else of the one who brings it.
func inputOf(name string) string {
	if entry, err := user.Current(); name == "" && err == nil {
		name = entry.Username
	}
	if name == "" {
		return "standard input"
	}
	return "standard input of " + name
}

// isUser returns a function that tells users of this host.
func isUser() func(string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		is, asked := known[name]
		if !asked {
			_, err := user.Lookup(name)
			is = err == nil
			known[name] = is
		}
		return is
	}
}

// homes returns a function that tells where the commands of a user start, as far as this host knows: cron starts them at home. A
// service elsewhere has homes that are not known here.
func (a *app) homes() func(string) string {
	if !isLocal(a.address()) {
		return func(string) string { return "" }
	}
	known := map[string]string{}
	return func(name string) string {
		home, asked := known[name]
		if !asked {
			home = a.home(name)
			if info, err := os.Stat(home); err != nil || !info.IsDir() || !filepath.IsAbs(home) {
				home = ""
			}
			known[name] = home
		}
		return home
	}
}

// home returns the home of a user; for the empty name that of the service's user, who owns its token.
func (a *app) home(name string) string {
	entry, err := user.Current()
	if name != "" {
		entry, err = user.Lookup(name)
	} else if info, found := os.Stat(a.tokenPath()); found != nil || !ownedByUs(info) {
		return ""
	}
	if err != nil {
		return ""
	}
	return entry.HomeDir
}

// sourceOf is the label of a table's jobs.
func sourceOf(t crontabFile) string {
	if t.source == "" {
		return crontab.Tag
	}
	return t.source
}
