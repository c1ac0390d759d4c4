package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// DefaultPath is the PATH of commands when the service has none: where programs are
// on any Unix, local ones first.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const (
	ownPrefix   = "RUQI_"
	paramPrefix = "RUQI_PARAM_"
	treeName    = "RUQI_PROCESS_TREE"
	jobName     = "RUQI_JOB_ID"
)

// baseEnviron returns environ without Ruqi's own names and with what every command is promised.
func baseEnviron(environ []string) []string {
	last := map[string]int{}
	for i, entry := range environ {
		last[nameOf(entry)] = i
	}
	base := make([]string, 0, len(environ)+5)
	for i, entry := range environ {
		name := nameOf(entry)
		if name == "" || last[name] != i || strings.HasPrefix(name, ownPrefix) || strings.IndexByte(entry, 0) >= 0 {
			continue
		}
		base = append(base, entry)
	}
	promised := promises(func(name string) string { return lookup(base, name) })
	for _, name := range slices.Sorted(maps.Keys(promised)) {
		if lookup(base, name) != "" {
			continue
		}
		// An empty HOME or PATH is no better than none.
		base = slices.DeleteFunc(base, func(entry string) bool { return nameOf(entry) == name })
		base = append(base, name+"="+promised[name])
	}
	return base
}

// startDir is where the task starts; empty: where the service is.
func (t *Task) startDir(who *account) string {
	if t.dir == "" && t.login && who != nil {
		return who.home
	}
	return t.dir
}

// environ returns what a task begins with that says whose it is: the service's environment with what is about a user made the
// account's or, for a login, nothing of it but the language and the zone.
func (a *account) environ(service []string, login bool) []string {
	environ := make([]string, 0, len(service)+1)
	for _, entry := range service {
		switch name := nameOf(entry); {
		case name == "HOME", name == "USER", name == "LOGNAME", name == "SHELL":
		case login && name != "TZ" && name != "LANG" && name != "LANGUAGE" && !strings.HasPrefix(name, "LC_"):
		default:
			environ = append(environ, entry)
		}
	}
	if login {
		environ = append(environ, "PATH="+DefaultPath)
	}
	return append(environ, "HOME="+a.home, "USER="+a.name, "LOGNAME="+a.name, "SHELL="+a.shell)
}

// environFor returns the whole environment of a run, the mark of its processes first. who is whose it is, nil for the service's.
func (e *Executor) environFor(t *Task, who *account, run *ruqi.Run, mark string) ([]string, error) {
	if run == nil {
		run = &ruqi.Run{}
	}
	over, err := params(run.Params)
	if err != nil {
		return nil, err
	}
	base, dir := e.environ, t.startDir(who)
	if who != nil {
		base = who.environ(base, t.login)
	}
	environ := make([]string, 0, len(base)+len(t.env)+len(over)+6)
	environ = append(environ, mark)
	for _, entry := range base {
		name := nameOf(entry)
		if _, replaced := t.env[name]; replaced || dir != "" && name == "PWD" {
			continue
		}
		environ = append(environ, entry)
	}
	if _, own := t.env["PWD"]; dir != "" && !own {
		environ = append(environ, "PWD="+dir)
	}
	for name, value := range t.env {
		if _, replaced := over[name]; replaced || reserved(name) {
			continue
		}
		environ = append(environ, name+"="+value)
	}
	for name, value := range over {
		environ = append(environ, name+"="+value)
	}
	return append(environ,
		jobName+"="+run.JobID,
		"RUQI_RUN_ID="+strconv.FormatInt(run.ID, 10),
		"RUQI_ATTEMPT="+strconv.Itoa(run.Attempt),
		"RUQI_NOMINAL_TIME="+run.Nominal.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)), nil
}

// markOf returns the variable by which the processes of a run are found again, made of nothing but the run's row, so
// that another instance finds them too; empty for a run that is in no store. A run's id is only unique in its
// store, and two services on a host may have given an instance the same name: the time of the start, which is
// the store's, tells them apart.
func markOf(run *ruqi.Run) string {
	if run == nil || run.Owner.Instance == "" {
		return ""
	}
	var started int64 // µs since 1970, the precision of the row
	if run.Started != nil {
		started = run.Started.UnixMicro()
	}
	// Escaped, the name holds no slash and nothing that an environment cannot.
	return fmt.Sprintf("%s=%s/%d/%d/%d", treeName, url.PathEscape(run.Owner.Instance), run.Owner.Epoch, run.ID, started)
}

func reserved(name string) bool {
	switch name {
	case jobName, "RUQI_RUN_ID", "RUQI_ATTEMPT", "RUQI_NOMINAL_TIME", treeName:
		return true
	}
	return false
}

// params returns the variables of a run's params, a JSON object or nothing.
func params(data json.RawMessage) (map[string]string, error) {
	if len(data) == 0 || string(data) == "{}" {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("the run's params are no JSON object: %w", err)
	}
	variables := make(map[string]string, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		var text string
		if value[0] == '"' {
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, fmt.Errorf("the run's param %q: %w", name, err)
			}
		} else {
			var compact bytes.Buffer
			if err := json.Compact(&compact, value); err != nil {
				return nil, fmt.Errorf("the run's param %q: %w", name, err)
			}
			text = compact.String()
		}
		if strings.IndexByte(text, 0) >= 0 {
			return nil, fmt.Errorf("the run's param %q holds a NUL byte, which no environment can", name)
		}
		variables[paramPrefix+strings.Map(upper, name)] = text
	}
	return variables, nil
}

func upper(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return r
	}
	return '_'
}

func nameOf(entry string) string {
	name, _, found := strings.Cut(entry, "=")
	if !found {
		return ""
	}
	return name
}

// lookup returns the value of a name in an environment, "" when there is none.
func lookup(environ []string, name string) string {
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(rest, "=") {
			return rest[1:]
		}
	}
	return ""
}
