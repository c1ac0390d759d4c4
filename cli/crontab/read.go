package crontab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/trigger"
)

// Tag is a tag of every job that was taken from a crontab. A label of that name says from which: Options.Source.
const Tag = "crontab"

// Grace is how late a fire may be and still run, unless CatchUp is set. Cron looks at its tables once a minute; what it finds later than
// that, because it was not running, it does not run.
const Grace = time.Minute

// What cron sets where a table does not: execle(3) of the daemon starts from these, not from the daemon's own environment.
const (
	defaultShell = "/bin/sh"
	defaultPath  = "/usr/bin:/bin"
)

// Options are what a table does not say. The zero value reads a user's crontab as cron would run it.
type Options struct {
	// Source names the table in ids and in the label: an id is Prefix + Source + "/" + the program's name. Empty: "crontab".
	Source string
	// Prefix stands in front of all ids.
	Prefix string
	// System says that a line names its user after its times, as in /etc/crontab and /etc/cron.d.
	System bool
	// UsersTable says for certain that lines name no user: somebody said so, or the table's place does. Without it and System, lines of which
	// that is not clear are refused.
	UsersTable bool
	// User is who the jobs run as, whatever a user column says; empty is the service's own user. Nil: the column's, without one the service's own.
	User *string
	// Zone is where lines live that no CRON_TZ or TZ covers, an IANA name. Empty: the service's.
	Zone string
	// CatchUp lets fires run that come later than Grace.
	CatchUp bool
	// Overlap is the policy of that name. Empty: allow, as cron does.
	Overlap string
	// Dialect is how the five fields are read: crontab (also where empty) or ruqi, that is as APScheduler reads them: 0 is Monday, and
	// both day fields must match.
	Dialect string
	// IsUser tells whether a name is a user's on this host: where a table is not said to be one of users, such a word before what
	// begins a command is not taken for the program. Nil: no name is.
	IsUser func(name string) bool
	// Home returns where the user's commands start (empty name: the service's own user), or empty where that is not known. Nil: it is not.
	Home func(user string) string
}

// A Job is a line as a definition in the API's shape.
type Job struct {
	// Line counts from 1.
	Line       int
	ID         string
	Definition map[string]any
	// Zoned says that the table, or Options.Zone, names the job's zone.
	Zoned bool
}

// A Message is about a line.
type Message struct {
	Line int
	Text string
}

// A Result is what was found in a table. Each line is one of Jobs, Faults, or counted as one of the others.
type Result struct {
	Jobs []Job
	// Faults are lines that cannot be taken, Notes say of the others what was left out or means something else here.
	Faults, Notes []Message
	// Variables, Comments and Blanks count the lines of these kinds.
	Variables, Comments, Blanks int
}

// reader is where in a table the reading is.
type reader struct {
	Options
	Result
	line int
	// env is what the lines so far have set. It is shared with the jobs read since it was last changed, and is copied for a change.
	env map[string]string
	// badZone says what is wrong with the zone in force, empty: nothing.
	badZone string
	// delay is RANDOM_DELAY in force.
	delay time.Duration
	// above are the comments directly above the line.
	above block
	ids   map[string]bool
	last  map[string]int // by program, the number of the last job
	users columnOfUsers  // what the table says of word 6, where it is not read as a system table
}

// Read reads a table.
func Read(data []byte, o Options) Result {
	if o.Source == "" {
		o.Source = Tag
	}
	if o.Overlap == "" {
		o.Overlap = "allow"
	}
	if o.Dialect == "" {
		o.Dialect = "crontab"
	}
	r := reader{Options: o, env: map[string]string{"PATH": defaultPath, "SHELL": defaultShell}, ids: map[string]bool{}, last: map[string]int{}}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !o.System {
		r.users = usersIn(text)
	}
	for line := range strings.Lines(text) {
		r.line++
		r.read(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return r.Result
}

// Lines counts the lines of all kinds.
func (r *Result) Lines() int {
	return len(r.Jobs) + len(r.Faults) + r.Variables + r.Comments + r.Blanks
}

const blanks = " \t"

func (r *reader) refuse(format string, args ...any) {
	r.Faults = append(r.Faults, Message{r.line, fmt.Sprintf(format, args...)})
}

func (r *reader) note(format string, args ...any) {
	r.Notes = append(r.Notes, Message{r.line, fmt.Sprintf(format, args...)})
}

func (r *reader) read(line string) {
	above := r.above
	r.above = block{}
	text := strings.TrimLeft(line, blanks)
	switch {
	case strings.Trim(text, "\r\f\v"+blanks) == "":
		r.Blanks++
	case strings.ContainsRune(strings.TrimRight(text, "\r"), '\r'):
		// A table with such ends alone would be one line: all of it a comment, or all of it one command.
		r.refuse("holds a carriage return, which ends no line for cron, so that what follows it is part of this line; lines end with a line feed")
	case text[0] == '#':
		r.Comments++
		r.above = above
		said := strings.TrimSpace(strings.TrimLeft(text, "#"))
		if strings.HasPrefix(text, "##") {
			said = cmp.Or(strings.TrimRight(said, "#"+blanks), "##") // without the right side of a box; a rule is no empty line
		}
		if e, off := r.above.add(said, r.System); off {
			command, _, _ := percent(e.command)
			r.id(programOf(command)) // so that those below stay the same jobs, and it is the same when it is switched on again
		}
	case !utf8.ValidString(text):
		r.refuse("not UTF-8")
	case strings.ContainsRune(text, 0):
		r.refuse("holds a NUL byte")
	case beginsVariable(text[0]):
		name, value, fault := variable(text)
		if fault != "" {
			r.refuse("%s", fault)
			return
		}
		r.set(name, value)
	default:
		r.entry(text, above.description())
	}
}

// set takes a variable for the lines below it.
func (r *reader) set(name, value string) {
	switch name {
	case "LOGNAME":
		r.Variables++
		r.note("LOGNAME is left out: cron does not let a table set it, either")
		return
	case "RANDOM_DELAY":
		r.setDelay(value)
	case "SHELL":
		if value == "" {
			value = defaultShell
			r.note("SHELL is empty, with which cron starts nothing; the jobs below have %s", defaultShell)
		}
	}
	r.env = maps.Clone(r.env)
	r.env[name] = value
	if name != "TZ" && name != "CRON_TZ" {
		r.Variables++
		return
	}
	zone, from := r.zone()
	_, err := trigger.LoadZone(zone)
	switch {
	case zone == "" || err == nil:
		r.badZone = ""
		r.Variables++
		if from == "CRON_TZ" && name == from {
			r.note("CRON_TZ is the zone of the times below, as in cronie; Debian's cron gives it to the commands alone")
		}
		if from == "TZ" {
			r.note("TZ is taken as the zone of the times below, too; cronie and Debian's cron give it to the commands alone. A CRON_TZ says otherwise")
		}
	case name != from && r.badZone != "":
		r.Variables++ // the other one is in force, and stays as bad as it was
	default:
		why := strings.TrimPrefix(faultOf(err), "tz: ")
		r.badZone = fmt.Sprintf("it stands below %s of line %d: %s", from, r.line, why)
		r.refuse("%s: %s", from, why)
	}
}

// setDelay takes cronie's RANDOM_DELAY, minutes, as jitter.
func (r *reader) setDelay(value string) {
	const most = 24 * 60 // a day; cronie itself has no use for more
	n, ok := number(value)
	switch {
	case value == "":
		r.delay = 0
	case !ok || n > most:
		r.delay = 0
		r.note("RANDOM_DELAY is not taken: %q is not a number of minutes from 0 to %d", value, most)
	default:
		r.delay = time.Duration(n) * time.Minute
		r.note("RANDOM_DELAY becomes policy.jitter: each fire of the jobs below is up to %d minutes late, never past the next; cronie draws one delay at its start", n)
	}
}

// zone returns the zone of the next line and the variable it is from, or the zone of the options.
func (r *reader) zone() (zone, from string) {
	for _, name := range []string{"CRON_TZ", "TZ"} {
		if zone := strings.TrimPrefix(r.env[name], ":"); zone != "" {
			return zone, name
		}
	}
	return r.Zone, ""
}

// entry reads a line of times and a command.
func (r *reader) entry(text, description string) {
	e, fault := readEntry(text, r.System)
	if fault != "" {
		r.refuse("%s", fault)
		return
	}
	if fault := r.checkUser(&e); fault != "" {
		r.refuse("%s", fault)
		return
	}
	command, stdin, odd := percent(e.command)
	// The id is given before the times are looked at: a line that is refused must not make the next another job.
	program := programOf(command)
	id := r.id(program)
	when, notes, fault := schedule(&e, id, r.Dialect)
	switch {
	case fault != "":
	case r.badZone != "":
		fault = r.badZone
	case strings.Trim(command, blanks) == "":
		fault = "there is no command before the first %"
	}
	if fault != "" {
		r.refuse("%s", fault)
		return
	}
	for _, n := range notes {
		r.note("%s", n)
	}
	if odd {
		r.note(`cron ends a command at the first bare %%, also in quotes: this one is %q, and the rest is its input; \%% is a plain %%`, command)
	}
	zone, _ := r.zone()
	if zone != "" && when["kind"] == "cron" {
		when["zone"] = zone
	}
	user := e.user
	if r.User != nil {
		user = *r.User
	}
	task := map[string]any{"kind": "command", "command": command, "env": r.env}
	if shell := r.env["SHELL"]; shell != "" && shell != defaultShell {
		task["shell"] = shell
	}
	if stdin != "" {
		task["stdin"] = stdin
	}
	home := r.env["HOME"]
	if home == "" && r.Home != nil {
		home = r.Home(user)
	}
	if home != "" {
		task["dir"] = home
	}
	withUser(task, user)
	policy := map[string]any{"overlap": r.Overlap, "coalesce": true}
	if !r.CatchUp {
		policy["misfire_grace"] = duration.Format(Grace)
	}
	if r.delay > 0 {
		policy["jitter"] = duration.Format(r.delay)
	}
	if e.reboot() {
		policy["run_on_start"] = true
	}
	definition := map[string]any{
		"id": id, "name": jobName(description, command), "trigger": when, "task": task, "policy": policy,
		"tags": []string{Tag}, "labels": map[string]string{Tag: r.Source},
	}
	if description != "" {
		definition["description"] = description
	}
	r.Jobs = append(r.Jobs, Job{Line: r.line, ID: id, Definition: definition, Zoned: zone != ""})
}

// withUser makes the task run as a user; empty: as the service does.
func withUser(task map[string]any, user string) {
	if user != "" {
		task["user"] = user
	}
}

// id returns the id of the next job of a program: the first has its name, the others a number behind it.
func (r *reader) id(program string) string {
	base := r.Prefix + r.Source + "/" + program
	for n := r.last[program] + 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		if !r.ids[id] {
			r.ids[id], r.last[program] = true, n
			return id
		}
	}
}

// checkUser refuses lines of a system table that is not read as one, or of what may be one.
func (r *reader) checkUser(e *entry) string {
	if r.System {
		return ""
	}
	word, rest, _ := cutBlank(e.command)
	if rest == "" || !userName(word) {
		return ""
	}
	known := r.IsUser != nil && r.IsUser(word)
	switch {
	case r.users.named > r.users.none:
		return fmt.Sprintf("word 6, %q, stands where %s names a user: this is a system table; --system reads it as one", word, r.users.first)
	case e.namesUser():
		return fmt.Sprintf("word 6, %q, is the name of a user, which a line has in a system table alone; other lines here have none: take it out, or read the table with --system if it is one", word)
	case !r.UsersTable && !r.users.absent() && e.mayNameUser(known, r.users.named > 0):
		return fmt.Sprintf("word 6, %q, may be a user, as in a system table, or a program, and the table does not say which: --system reads a table whose lines name their user, --system=false or --user one whose lines do not", word)
	case known && !slices.Contains(programs, word):
		r.note("word 6, %q, is a user of this host, and is taken as the program; --system reads a table whose lines name their user", word)
	}
	return ""
}
