package crontab

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// An entry is a line of times and a command, parted and not yet understood.
type entry struct {
	fields  []string // five, or one that begins with @ and for @every its length
	user    string
	command string // byte for byte what stands after the blanks
}

func (e *entry) reboot() bool { return e.fields[0] == "@reboot" }

// cutBlank returns the first word, and what stands after the blanks behind it.
func cutBlank(text string) (word, rest string, found bool) {
	end := strings.IndexAny(text, blanks)
	if end < 0 {
		return text, "", false
	}
	return text[:end], strings.TrimLeft(text[end:], blanks), true
}

// readEntry parts a line that does not begin with a blank.
func readEntry(text string, system bool) (e entry, fault string) {
	// Before the minute, a dash keeps the run out of syslog, in cronie and in the crons of Debian and SUSE.
	text = strings.TrimPrefix(text, "-")
	want, last := 5, "the weekday"
	if strings.HasPrefix(text, "@") {
		want, last = 1, "the @word"
		if word, _, _ := cutBlank(text); word == "@every" {
			want, last = 2, "the length"
		}
	}
	for len(e.fields) < want {
		word, rest, _ := cutBlank(text)
		if word == "" {
			return e, fmt.Sprintf("only %d of the %d words that say when", len(e.fields), want)
		}
		e.fields, text = append(e.fields, word), rest
	}
	if system {
		e.user, text, _ = cutBlank(text)
		switch {
		case e.user == "":
			return e, "there is no user after " + last
		case strings.ContainsAny(e.user, ":/") && e.user[0] != '/': // a path is a program's
			return e, fmt.Sprintf("%q names a user with a group or a class; only the user can be said here", e.user)
		case !userName(e.user):
			return e, fmt.Sprintf("%q is no name of a user; is this a system table?", e.user)
		}
		last = "the user"
	}
	if text == "" {
		return e, "there is no command after " + last
	}
	e.command = text
	return e, ""
}

var userPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)

// mostUser is LOGIN_NAME_MAX of Linux, in bytes without its NUL.
const mostUser = 255

func userName(word string) bool { return len(word) <= mostUser && userPattern.MatchString(word) }

// plainUsers are names of users on any Unix that are names of no program.
var plainUsers = []string{"root", "www-data", "nobody", "wwwrun", "_www", "apache", "munin", "smmsp", "logcheck", "Debian-exim", "amavis"}

// programs are those that crontabs start without a path, and that are no user's name where they stand before arguments.
var programs = []string{
	"awk", "cat", "certbot", "chmod", "chown", "cp", "curl", "date", "df", "docker", "du", "echo", "find", "git", "grep", "gzip", "java", "kill", "ln", "logger", "ls", "make",
	"mkdir", "mv", "mysqldump", "node", "npm", "perl", "pg_dump", "php", "pkill", "printf", "ps", "psql", "python", "python2", "python3", "rm", "rsync", "ruby", "run-parts",
	"scp", "sed", "service", "ssh", "sqlite3", "systemctl", "tail", "tar", "tee", "touch", "wget", "xargs",
}

// bothNames are names of programs by which services' users are called, too.
var bothNames = []string{"backup", "docker", "git", "java", "lp", "mail", "man", "mysql", "node", "php", "ruby"}

// scripts is how files end that an interpreter reads: behind its name they are no commands.
var scripts = map[string][]string{"node": {".js", ".mjs", ".cjs"}, "php": {".php"}, "ruby": {".rb"}}

// namesUser reports whether word 6 of a line can only be a user's name: a well-known one, or one that stands before what begins a
// command of the shell.
func (e *entry) namesUser() bool {
	word, rest, _ := cutBlank(e.command)
	second, more, _ := cutBlank(rest)
	begins := more != "" && slices.Contains([]string{"[", "[[", "cd", "if"}, second) && !slices.Contains(carriers, word) && !slices.Contains(programs, word)
	return userName(word) && (rest != "" && slices.Contains(plainUsers, word) || begins)
}

// mayNameUser reports whether word 6 of a line may be a user's name and may be a program's. known: it is that of a user of this
// host; beside: other lines of the table name users.
func (e *entry) mayNameUser(known, beside bool) bool {
	word, rest, _ := cutBlank(e.command)
	if rest == "" || !userName(word) || strings.HasPrefix(rest, "-") || slices.Contains(carriers, word) || slices.Contains(quiet, word) {
		return false
	}
	second, _, _ := cutBlank(rest)
	if !known && slices.Contains(scripts[word], path.Ext(second)) {
		return false
	}
	begins := strings.ContainsRune("/~.$({", rune(second[0])) || slices.Contains(programs, second) || slices.Contains(carriers, second) || slices.Contains(quiet, second)
	return begins && (known || slices.Contains(bothNames, word) || beside && !slices.Contains(programs, word))
}

// namesNone reports whether word 6 of a line can be no user's name before a command. certain: whatever users there are.
func (e *entry) namesNone() (none, certain bool) {
	word, rest, _ := cutBlank(e.command)
	certain = rest == "" || !userName(word) && !strings.Contains(word, ":") || strings.HasPrefix(rest, "-")
	return certain || !userName(word) || slices.Contains(carriers, word) || slices.Contains(quiet, word) || slices.Contains(programs, word), certain
}

// columnOfUsers is what the lines of a table say of word 6: how many name a user there, how many can hardly, and how many cannot.
type columnOfUsers struct {
	named, none, never int
	first              string // the first that names one, with its line
}

// absent reports whether the table is one whose lines name no user.
func (c columnOfUsers) absent() bool { return c.named == 0 && c.never > 0 }

// usersIn counts them.
func usersIn(text string) (c columnOfUsers) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"+blanks), blanks)
		if line == "" || line[0] == '#' || beginsVariable(line[0]) {
			continue
		}
		e, fault := readEntry(line, false)
		if fault != "" {
			continue
		}
		if e.namesUser() {
			if c.named++; c.first == "" {
				word, _, _ := cutBlank(e.command)
				c.first = fmt.Sprintf("line %d (%s)", n, word)
			}
			continue
		}
		none, never := e.namesNone()
		if none {
			c.none++
		}
		if never {
			c.never++
		}
	}
	return c
}

// percent parts what stands after the times at the first bare %, as cron does: before it is the command, in which \% is %; after it
// the standard input, in which % is a newline and \% is %, and which ends in a newline. odd says that this % stands in quotes or after a +: where
// somebody forgot what cron makes of it.
func percent(text string) (command, stdin string, odd bool) {
	out := make([]byte, 0, len(text))
	var quote byte // the shell's quote that is open, 0: none
	escaped := false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '%' && escaped:
			out = out[:len(out)-1] // the backslash is not part of the command
		case c == '%':
			return string(out), input(text[i+1:]), quote != 0 || strings.HasSuffix(string(out), "+")
		case escaped && quote != '\'':
		case quote == c, quote == 0 && (c == '\'' || c == '"' || c == '`'):
			quote ^= c
		}
		out = append(out, c)
		escaped = c == '\\' && !escaped
	}
	return string(out), "", false
}

// input reads what stands after the first bare %.
func input(text string) string {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '%' && !escaped:
			c = '\n'
		case c != '%' && escaped:
			b.WriteByte('\\')
		}
		if escaped = c == '\\'; !escaped {
			b.WriteByte(c)
		}
	}
	if escaped {
		b.WriteByte('\\')
	}
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
