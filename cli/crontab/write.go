package crontab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

// WriteOptions are what the jobs do not say.
type WriteOptions struct {
	// System writes a user into each line.
	System bool
	// User is whose table it is: jobs of others do not go into it. With System it is the user of jobs that name none.
	User string
	// Zone is that of the host which will read the table: jobs in it need no CRON_TZ.
	Zone string
	// Home returns where cron starts the commands of a user (empty: of the table's own), or empty where that is not known. Nil: it is not.
	Home func(user string) string
}

// An Unsaid is what a table does not say of a job.
type Unsaid struct{ ID, Why string }

// Written is a table.
type Written struct {
	Text string
	// Jobs counts the lines that are jobs.
	Jobs int
	// Refused are jobs that a table cannot say, Left what it leaves out of others.
	Refused, Left []Unsaid
}

// mostLine is the longest command that all crons read, in bytes; cronie reads longer ones.
const mostLine = 998

// Write writes jobs as a table. A variable holds for all lines below it and cannot be taken back, so that lines stand in the order of
// their variables: a job that must not have one that a line above has set is refused.
func Write(jobs []ruqi.Job, o WriteOptions) Written {
	var w Written
	var lines []*line
	for _, job := range jobs {
		l := &line{id: job.ID}
		l.read(job, o)
		if l.why != "" {
			w.Refused = append(w.Refused, Unsaid{l.id, l.why})
			continue
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		return cmp.Or(cmp.Compare(len(a.env), len(b.env)), cmp.Compare(a.sorted, b.sorted), natural(a.id, b.id))
	})
	t := table{env: map[string]string{"PATH": defaultPath, "SHELL": defaultShell}, apart: true}
	t.WriteString("# Jobs of Ruqi as cron reads them")
	if o.Zone != "" {
		t.WriteString("; times are in " + printable(o.Zone) + " where no CRON_TZ stands above them")
	}
	t.WriteString(".\n")
	for _, l := range lines {
		if why := t.write(l); why != "" {
			w.Refused = append(w.Refused, Unsaid{l.id, why})
			continue
		}
		if !l.paused {
			w.Jobs++
		}
		w.Left = append(w.Left, l.left...)
		if l.paused {
			w.Refused = append(w.Refused, Unsaid{l.id, "it is paused; its line is a comment"})
		}
	}
	if len(w.Refused) > 0 {
		t.WriteString("\n# Not in this table:\n")
		for _, r := range w.Refused {
			fmt.Fprintf(&t, "# %s: %s\n", printable(r.ID), printable(r.Why))
		}
	}
	w.Text = t.String()
	return w
}

// A line is a job on its way into a table.
type line struct {
	id      string
	when    string
	user    string
	command string
	comment string            // of one or several lines
	env     map[string]string // the variables that must stand above it
	sorted  string            // the same as a text
	ownPath bool              // PATH is one of them
	zone    string
	paused  bool
	left    []Unsaid
	why     string // it cannot be said
}

// The parts of a job that matter here, as their JSON has them.
type (
	triggerShape struct {
		Kind, Expr, Dialect, Zone, Gap, Fold string
		Start, End                           any
	}
	taskShape struct {
		Kind, Command, Shell, Dir, Stdin, User, Umask string
		Env                                           map[string]string
		Nice                                          int
		Login                                         bool
		Limits                                        any
	}
)

func (l *line) refuse(format string, args ...any) {
	if l.why == "" {
		l.why = fmt.Sprintf(format, args...)
	}
}

func (l *line) leave(there bool, format string, args ...any) {
	if there {
		l.left = append(l.left, Unsaid{l.id, fmt.Sprintf(format, args...)})
	}
}

// read takes from the job what a line says.
func (l *line) read(job ruqi.Job, o WriteOptions) {
	var when triggerShape
	var task taskShape
	shape(l, job.Trigger, &when)
	shape(l, job.Task, &task)
	if l.why != "" {
		return
	}
	l.readTrigger(when, job.Policy)
	l.readTask(task, when, o)
	l.readPolicy(job, task)
	l.readComment(job, task)
}

// readComment takes the description, else a name that somebody gave, as comments.
func (l *line) readComment(job ruqi.Job, task taskShape) {
	text := job.Description
	if text == "" && job.Name != job.ID && job.Name != jobName("", task.Command) {
		text = job.Name
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, printable(line))
	}
	plain := strings.TrimSpace(strings.Join(lines, "\n"))
	if described(plain) == plain {
		l.comment = plain
	}
	l.leave(l.comment != plain, "its description: above a line it would not be taken for one")
	l.leave(l.comment == plain && plain != text, "of its description blanks around its lines, and what cannot be printed")
}

func shape(l *line, part json.Marshaler, into any) {
	text, err := part.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		l.refuse("it cannot be read: %v", err)
	}
}

func (l *line) readTrigger(when triggerShape, policy ruqi.Policy) {
	switch {
	case when.Kind == "interval":
		l.refuse("cron has no intervals")
	case when.Kind != "cron":
		l.refuse("a trigger of kind %q is none of cron's", when.Kind)
	case when.Dialect != "crontab":
		l.refuse("its expression is in dialect %s", when.Dialect)
	case when.Start != nil, when.End != nil:
		l.refuse("its trigger has a start or an end")
	case when.Gap != "" && when.Gap != "run_after", when.Fold != "" && when.Fold != "auto":
		l.refuse("its trigger has a rule of its own for clock changes")
	case policy.MaxRuns > 0:
		l.refuse("it has max_runs, and cron counts none")
	}
	reboot := when.Expr == "@reboot"
	if policy.RunOnStart != reboot {
		l.refuse("it runs at starts beside its times")
	}
	l.zone = when.Zone
	var why string
	if l.when, why = cronTimes(when.Expr); why != "" {
		l.refuse("%s", why)
	}
}

func (l *line) readTask(task taskShape, when triggerShape, o WriteOptions) {
	if task.Kind != "command" || task.Command == "" {
		l.refuse("cron starts texts for a shell alone")
		return
	}
	var why string
	if l.command, why = cronCommand(task.Command, task.Stdin); why != "" {
		l.refuse("%s", why)
	}
	l.leave(len(l.command) > mostLine, "its command is longer than %d bytes; cronie takes it, other crons do not", mostLine)
	switch {
	case o.System:
		if l.user = cmp.Or(task.User, o.User); l.user == "" {
			l.refuse("it names no user; --user gives one")
		} else if !userName(l.user) {
			l.refuse("its user %q has letters that cron's column of users does not take", l.user)
		}
	case task.User != "" && task.User != o.User:
		l.refuse("it runs as %s; --system writes users, --user %s the table of that one", task.User, task.User)
	}
	l.readEnv(task, o)
	home := l.env["HOME"]
	if home == "" && o.Home != nil {
		home = o.Home(cmp.Or(task.User, o.User))
	}
	if task.Dir != "" && task.Dir != home {
		l.refuse("it starts in %s, and cron starts commands at home", task.Dir)
	}
	l.leave(task.Umask != "", "its umask")
	l.leave(task.Nice != 0, "its nice value")
	l.leave(task.Login, "its login environment")
	l.leave(task.Limits != nil, "its limits")
}

// readEnv lists the variables that must stand above the line.
func (l *line) readEnv(task taskShape, o WriteOptions) {
	l.env = map[string]string{}
	maps.Copy(l.env, task.Env)
	shell := cmp.Or(task.Shell, defaultShell)
	if own, given := l.env["SHELL"]; given && cmp.Or(own, defaultShell) != shell {
		l.refuse("its SHELL is %s, and its shell another: %s", own, shell)
	}
	l.env["SHELL"] = shell
	_, l.ownPath = l.env["PATH"]
	l.leave(!l.ownPath, "the service's PATH: cron has its own")
	if _, given := l.env["LOGNAME"]; given {
		l.refuse("it sets LOGNAME, which cron lets no table do")
	}
	own := strings.TrimPrefix(l.env["CRON_TZ"], ":")
	switch {
	case own != "" && own != l.zone:
		l.refuse("its CRON_TZ is %s, and its zone another: %s", own, l.zone)
	case own == "" && l.zone != "" && l.when != "@reboot" && (l.zone != o.Zone || l.env["TZ"] != ""):
		l.env["CRON_TZ"] = l.zone
	}
	var sorted []string
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		text, ok := cronVariable(name, l.env[name])
		if !ok {
			l.refuse("no line can give its variable %s that value", name)
		}
		sorted = append(sorted, text)
	}
	l.sorted = strings.Join(sorted, "\n")
}

// readPolicy names what cron does otherwise.
func (l *line) readPolicy(job ruqi.Job, task taskShape) {
	p := job.Policy
	switch job.State {
	case ruqi.JobPaused:
		l.paused = true
	case ruqi.JobFinished:
		l.refuse("it is finished")
	}
	_, delayed := task.Env["RANDOM_DELAY"]
	l.leave(p.Timeout > 0, "its timeout")
	l.leave(p.Retry != nil, "its retries")
	l.leave(p.Jitter > 0 && !delayed, "its jitter")
	l.leave(p.MisfireGrace == nil, "fires that come late: cron does not run them")
	l.leave(p.Overlap != ruqi.OverlapAllow, "its overlap %s: cron allows it", p.Overlap)
	l.leave(len(job.Params) > 0 && string(job.Params) != "{}", "its params")
}

// A table is what has been written.
type table struct {
	strings.Builder
	env   map[string]string // the variables in force
	apart bool              // what comes next must not stand directly below what was written
}

// write writes a line below the variables it needs, or says why it cannot stand here.
func (t *table) write(l *line) (why string) {
	for _, name := range slices.Sorted(maps.Keys(t.env)) {
		if _, wanted := l.env[name]; wanted || name == "PATH" && !l.ownPath {
			continue
		}
		if name == "CRON_TZ" && l.zone != "" {
			l.env[name] = l.zone // its own zone, said in so many words
			continue
		}
		return fmt.Sprintf("a job above it has the variable %s, which no line can take back; export it apart, with --tag or --prefix", name)
	}
	var above strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if before, set := t.env[name]; !set || before != l.env[name] {
			t.env[name] = l.env[name]
			text, _ := cronVariable(name, l.env[name]) // it was tried before
			above.WriteString(text + "\n")
		}
	}
	if l.comment != "" {
		for text := range strings.SplitSeq(l.comment, "\n") {
			above.WriteString(strings.TrimSpace("# "+text) + "\n")
		}
	}
	if t.apart || above.Len() > 0 || l.paused {
		t.WriteByte('\n')
	}
	t.WriteString(above.String())
	if t.apart = l.paused; l.paused {
		t.WriteString("# paused: ")
	}
	t.WriteString(l.when + " ")
	if l.user != "" {
		t.WriteString(l.user + " ")
	}
	t.WriteString(l.command + "\n")
	return ""
}

// cronVariable writes a variable; false where cron could not read it back.
func cronVariable(name, value string) (text string, ok bool) {
	if strings.ContainsAny(value, "\r\n\x00") || !variableName(name) {
		return "", false
	}
	if value != "" && value == strings.Trim(value, blanks) && value[0] != '"' && value[0] != '\'' {
		return name + "=" + value, true
	}
	for _, quote := range []string{`"`, `'`} {
		if !strings.Contains(value, quote) {
			return name + "=" + quote + value + quote, true
		}
	}
	return "", false
}

// cronCommand writes a command and its input as percent reads them.
func cronCommand(command, stdin string) (text, why string) {
	if strings.ContainsAny(command, "\r\n") {
		return "", "its command has several lines"
	}
	var b strings.Builder
	escaped := false
	command = strings.TrimLeft(command, blanks)
	for i := range len(command) {
		c := command[i]
		if c == '%' {
			if escaped {
				return "", `its command has a backslash before a %, which cron would take`
			}
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		escaped = c == '\\' && !escaped
	}
	if stdin == "" {
		return b.String(), ""
	}
	last := strings.HasSuffix(stdin, "\n")
	if rest := strings.TrimSuffix(stdin, "\n"); rest != "" && !strings.HasSuffix(rest, "\n") {
		stdin = rest // cron adds it; said, a backslash before it would take it
	}
	switch {
	case escaped:
		return "", "its command ends in a backslash, and it has an input"
	case !last:
		return "", "its input does not end in a newline, which cron would add"
	case strings.Contains(stdin, "\\\n"):
		return "", "its input has a backslash at the end of a line, which cron cannot say"
	}
	return b.String() + "%" + strings.NewReplacer("%", `\%`, "\n", "%").Replace(stdin), ""
}

var (
	cronElement = regexp.MustCompile(`^(?:\*|([0-9]+|[a-z]{3})(-(?:[0-9]+|[a-z]{3}))?)(/[0-9]+)?$`)
	fieldMost   = []string{"59", "23", "31", "dec", "sat"}
)

// cronTimes writes the fields as crontab(5) has them.
func cronTimes(expr string) (times, why string) {
	if expr == "@reboot" {
		return expr, ""
	}
	fields := strings.Fields(expr)
	if len(fields) == 6 {
		if fields[0] != "0" {
			return "", "cron has no seconds"
		}
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return "", fmt.Sprintf("%q is no time of cron's", expr)
	}
	for i, field := range fields {
		elements := strings.Split(field, ",")
		for n, element := range elements {
			m := cronElement.FindStringSubmatch(element)
			if m == nil {
				return "", fmt.Sprintf("cron does not know %q", element)
			}
			if m[1] != "" && m[2] == "" && m[3] != "" { // a/n is a to the greatest
				elements[n] = m[1] + "-" + fieldMost[i] + m[3]
			}
		}
		fields[i] = strings.Join(elements, ",")
	}
	return strings.Join(fields, " "), ""
}

// natural compares ids so that x-2 stands before x-10.
func natural(a, b string) int {
	cut := func(id string) (string, int) {
		if at := strings.LastIndexByte(id, '-'); at >= 0 {
			if n, ok := number(id[at+1:]); ok {
				return id[:at], n
			}
		}
		return id, 1
	}
	left, n := cut(a)
	right, m := cut(b)
	return cmp.Or(cmp.Compare(left, right), cmp.Compare(n, m), cmp.Compare(a, b))
}
