package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/trigger"
)

// jobFlags are the flags that define a job. What was not given is left for the service's
// defaults, or, in a change, as it is.
type jobFlags struct {
	set *pflag.FlagSet
	// change is set where the flags change a job that there is: then none and K- take something away.
	change bool
	// onStart says that the trigger is @reboot.
	onStart bool
	// service is the address of the service, whose folders --dir speaks of.
	service string

	id, name, description, executor string
	cron, every, at, triggerJSON    string
	zone, start, end                string
	gap, fold, dialect              string
	command, dir                    string
	env, labels, params             []string
	tags                            []string
	priority                        int

	coalesce, deleteWhenFinished, runOnStart            bool
	misfireGrace, timeout, killGrace, jitter            string
	overlap, onLost, maxRuns, catchupLimit, maxInstance string
	retry, retryDelay, retryBackoff, retryMaxDelay      string
	webhook, method, body, expect                       string
	headers                                             []string

	commandFlags
}

// A onceFlag is a text that is refused when it is given again: the first one would be lost without a word.
type onceFlag struct {
	text  *string
	given bool
}

var errTwice = errors.New("given twice; several triggers of a job are one of the kind any, which --trigger and job files (--file) have")

// Set implements pflag.Value.
func (f *onceFlag) Set(text string) error {
	if f.given {
		return errTwice
	}
	*f.text, f.given = text, true
	return nil
}

// String implements pflag.Value.
func (f *onceFlag) String() string { return *f.text }

// Type implements pflag.Value.
func (f *onceFlag) Type() string { return "string" }

// none takes an option away in a change.
const none = "none"

func (f *jobFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.name, "name", "", "`name` for people (default: the id)")
	set.StringVar(&f.description, "description", "", "free `text`")
	set.Var(&onceFlag{text: &f.cron}, "cron", "fire by a cron `expression`: '30 2 * * mon-fri'")
	set.Var(&onceFlag{text: &f.every}, "every", "fire at a `time` in words: '5 seconds', 90s, '5 to 10 minutes', 'monday at 13:15', 'day at 10:30 until 2030-01-01'")
	set.Var(&onceFlag{text: &f.at}, "at", "fire once: '2026-12-01 09:00', 'in 5 minutes', now (a `time`, as in --start and --end)")
	set.Var(&onceFlag{text: &f.triggerJSON}, "trigger", "fire by a trigger in `JSON`, of any kind, such as any, except and calendar; all options are its members")
	set.StringVar(&f.zone, "tz", "", "`zone` of the trigger, an IANA name (default: the service's)")
	set.StringVar(&f.start, "start", "", "no fire before that `time`; an interval fires first then, and counts from it")
	set.StringVar(&f.end, "end", "", "no fire after that `time`")
	set.StringVar(&f.gap, "gap", "", "`what` to do with times that a clock change leaves out: run_after (default), shift or skip")
	set.StringVar(&f.fold, "fold", "", "`what` to do with times that a clock change repeats: auto (default), first, second or both")
	set.StringVar(&f.dialect, "dialect", "", "how --cron is read: `dialect` crontab (default), ruqi, fields or quartz")
	set.StringVar(&f.command, "command", "", "run this `text` in a shell; or give a program and its arguments after --")
	set.StringVar(&f.webhook, "webhook", "", "send a request to this `url`, in place of running a command")
	set.StringVar(&f.method, "method", "", "`method` of the request (default POST)")
	set.StringArrayVar(&f.headers, "header", nil, "`K: V`, a header of the request; may be given again")
	set.StringVar(&f.body, "body", "", "body of the request: `JSON`, or else text; {{x}} in a text stands for the param x")
	set.StringVar(&f.expect, "expect", "", "`statuses` that count as success: 2xx (default), 200,304, 200-204")
	set.StringArrayVar(&f.env, "env", nil, "`K=V` for the command's environment; may be given again")
	set.StringVar(&f.dir, "dir", "", "`folder` the command starts in; a relative one is taken from the folder you are in")
	f.registerCommand(set)
	set.StringVar(&f.executor, "executor", "", "`pool` of slots (default: that of the task's kind)")
	set.IntVar(&f.priority, "priority", 0, "higher goes first when slots are short: `n`")
	set.StringArrayVar(&f.tags, "tag", nil, "`tag`; may be given again (in a change: all the tags there shall be); none: no tags")
	set.StringArrayVar(&f.labels, "label", nil, "`K=V`; may be given again")
	set.StringArrayVar(&f.params, "param", nil, "`K=V` for every run, V as text; may be given again")
	set.BoolVar(&f.coalesce, "coalesce", true, "run only the last of several fires that are due")
	set.StringVar(&f.misfireGrace, "misfire-grace", "", "a fire that is later than this `time` is missed (default: never too late)")
	set.StringVar(&f.catchupLimit, "catchup-limit", "", "at most `n` fires are looked at one by one after an outage (default 100)")
	set.StringVar(&f.maxInstance, "max-instances", "", "at most `n` runs of the job at the same time (default 1)")
	set.StringVar(&f.overlap, "overlap", "", "`what` a fire does at that limit: skip (default), queue, queue_one, cancel_running or allow")
	set.StringVar(&f.timeout, "timeout", "", "end a run that takes longer than this `time`: 10m (default: none)")
	set.StringVar(&f.killGrace, "kill-grace", "", "`time` between asking a command to end and ending it (default 10s)")
	set.StringVar(&f.onLost, "on-lost", "", "`what` becomes of a run whose instance died: fail (default) or rerun")
	set.StringVar(&f.retry, "retry", "", "try a run that failed or timed out up to `n` times more (default: not)")
	set.StringVar(&f.retryDelay, "retry-delay", "", "`time` before the first of these (default 10s)")
	set.StringVar(&f.retryBackoff, "retry-backoff", "", "`how` that time grows: exponential (doubled, the default), linear or fixed")
	set.StringVar(&f.retryMaxDelay, "retry-max-delay", "", "the longest `time` before another try (default 1h)")
	set.StringVar(&f.jitter, "jitter", "", "delay each fire by up to this much `time` (default: none)")
	set.StringVar(&f.maxRuns, "max-runs", "", "finish the job after `n` scheduled runs (default: no bound)")
	set.BoolVar(&f.runOnStart, "run-on-start", false, "run the job each time an instance starts, too; --cron @reboot alone says it as well")
	set.BoolVar(&f.deleteWhenFinished, "delete-when-finished", false, "remove the job when it has finished")
}

func (f *jobFlags) given(name string) bool { return f.set.Changed(name) }

// definitionFlags are those that register made and that were given.
func (f *jobFlags) definitionFlags() []string {
	var names []string
	f.set.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "file", "on-conflict", "server", "token", "data-dir", "output":
		default:
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// flagOf maps pointers of a job to the flags they were given by.
var flagOf = map[string]string{
	"/trigger/zone": "--tz", "/task": "--command", "/tags": "--tag", "/labels": "--label", "/params": "--param", "/task/argv": "--", "/task/env": "--env", "/task/limits": "--limit",
	"/task/url": "--webhook", "/task/headers": "--header", "/task/method": "--method", "/task/body": "--body", "/task/expect": "--expect",
	"/policy/retry/max": "--retry", "/policy/retry/delay": "--retry-delay", "/policy/retry/max_delay": "--retry-max-delay",
	"/policy/retry/backoff": "--retry-backoff",
}

// names tells which flag a fault is about.
func (f *jobFlags) names(pointer string) string {
	if pointer == "/name" && !f.given("name") {
		pointer = "/id" // a job without a name of its own is called by its id
	}
	if pointer == "/id" && !f.given("id") {
		return "ID" // an argument
	}
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	flag := strings.ReplaceAll(last, "_", "-")
	if part, found := strings.CutPrefix(pointer, "/trigger/"); found && f.given("trigger") {
		return "--trigger: " + strings.Join(object.Names("/"+part), ".")
	}
	when := slices.Contains(whenFlags, flag)
	if flagOf[pointer] == "" && !when && f.set.Lookup(flag) != nil {
		return "--" + flag
	}
	for p := pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
		flag, known := flagOf[p]
		if known && p != pointer && slices.Contains([]string{"/task/limits", "/task/env", "/task/headers", "/labels", "/params"}, p) {
			return flag + ": " + strings.Join(object.Names(pointer[len(p):]), ".") // the flag may be given again: which one it is
		}
		if known {
			return flag
		}
		if p == "/trigger" {
			return f.when()
		}
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

// whenFlags are those that say when.
var whenFlags = []string{"cron", "every", "at", "trigger"}

// chosen are the flags given of those that say when.
func (f *jobFlags) chosen() []string {
	var chosen []string
	for _, name := range whenFlags {
		if f.given(name) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// when names the flag that said when.
func (f *jobFlags) when() string {
	switch chosen := f.chosen(); {
	case len(chosen) == 1:
		return "--" + chosen[0]
	case len(chosen) == 0 && f.change:
		return "trigger"
	}
	return "--cron, --every, --at or --trigger"
}

// members is a JSON object on its way to the service.
type members = map[string]any

// definition returns the members of a job that the flags speak of. argv is the command
// after "--".
func (f *jobFlags) definition(now time.Time, argv []string) (members, error) {
	var faults ruqi.Faults
	def := members{}
	put := func(to members, flag, member string, value any) {
		if f.given(flag) {
			to[member] = value
		}
	}
	put(def, "id", "id", f.id)
	put(def, "name", "name", f.name)
	put(def, "description", "description", f.description)
	put(def, "executor", "executor", f.executor)
	put(def, "priority", "priority", f.priority)
	if f.given("id") && f.id == "" {
		faults.Add("/id", "", "empty; leave it out to get a random one")
	}
	put(def, "tag", "tags", f.tagList(&faults))
	put(def, "label", "labels", f.pairs(&faults, "/labels", f.labels))
	put(def, "param", "params", f.pairs(&faults, "/params", f.params))
	if f.change && f.executor == none {
		def["executor"] = nil
	}
	if t := f.trigger(&faults, now); len(t) > 0 {
		def["trigger"] = t
	}
	if t := f.task(&faults, argv); len(t) > 0 {
		def["task"] = t
	}
	if p := f.policy(&faults); len(p) > 0 {
		def["policy"] = p
	}
	return def, faults.Err()
}

// trigger reads the flags that say when. Parsing here and not on the service gives words such
// as "5 seconds" and "in 5 minutes" their place: the moment they are typed.
func (f *jobFlags) trigger(faults *ruqi.Faults, now time.Time) members {
	kinds := map[string]string{"cron": f.cron, "every": f.every, "at": f.at}
	chosen := f.chosen()
	t := members{}
	if f.given("trigger") && len(chosen) == 1 {
		f.refuse(faults, "is a member of the JSON of --trigger", "tz", "start", "end", "gap", "fold", "dialect")
		if json.Unmarshal([]byte(f.triggerJSON), &t) != nil || len(t) == 0 {
			switch text := strings.TrimSpace(f.triggerJSON); {
			case strings.HasPrefix(text, "["):
				faults.Add("/trigger", f.triggerJSON, "%s", listOfTriggers)
			case slices.Contains([]string{"cron", "every", "interval", "date"}, text):
				flag := map[string]string{"interval": "every", "date": "at"}[text]
				faults.Add("/trigger", f.triggerJSON, `not a JSON object such as {"kind":"any","of":[…]}; a trigger of kind %s is given by --%s`, text, cmp.Or(flag, text))
			default:
				faults.Add("/trigger", f.triggerJSON, `not a JSON object such as {"kind":"any","of":[…]}`)
			}
			return nil
		}
		err := object.Check([]byte(f.triggerJSON), func(below, value, format string, args ...any) {
			faults.Add("/trigger"+below, value, format, args...)
		})
		faults.Merge("/trigger", err)
		return t
	}
	for flag, member := range map[string]string{"tz": "zone", "start": "start", "end": "end", "gap": "gap", "fold": "fold", "dialect": "dialect"} {
		value := f.set.Lookup(flag).Value.String()
		switch {
		case !f.given(flag):
		case value == none:
			t[member] = nil
		case flag == "start" || flag == "end":
			text, err := fixMoment(value, now)
			faults.Merge("/trigger/"+member, err)
			t[member] = text
		default:
			t[member] = value
		}
	}
	if f.given("at") && len(chosen) == 1 {
		if _, err := fixMoment(f.at, now); err != nil {
			faults.Merge("/trigger/at", err)
			return nil
		}
	}
	if faults.Err() != nil && (f.given("start") || f.given("end")) {
		return nil // it has been spoken of
	}
	switch len(chosen) {
	case 0:
		return t
	case 1:
	default:
		faults.Add("/trigger", "", "one of them, not --%s", strings.Join(chosen, " and --"))
		return nil
	}
	kind := map[string]string{"cron": "cron", "every": "every", "at": "date"}[chosen[0]]
	text := func(member string) string { value, _ := t[member].(string); return value }
	parsed, err := trigger.Parse(kind, kinds[chosen[0]], trigger.ParseOptions{
		Dialect: text("dialect"), Zone: text("zone"), Gap: text("gap"), Fold: text("fold"), Start: text("start"), End: text("end"), Now: now,
	})
	if err != nil {
		if belongs := otherFlag(chosen[0], kinds[chosen[0]], now); belongs != nil {
			err = belongs
		}
		faults.Merge("/trigger", err)
		return nil
	}
	if starter, ok := parsed.(ruqi.Starter); ok {
		f.onStart = starter.OnStart()
	}
	encoded, err := parsed.MarshalJSON()
	if err != nil {
		faults.Merge("/trigger", err)
		return nil
	}
	full := members{}
	if err := json.Unmarshal(encoded, &full); err != nil {
		faults.Merge("/trigger", err)
		return nil
	}
	// Of the canonical form only what was said: in a change the rest stays as it is.
	for member, value := range full {
		_, said := t[member]
		optional := slices.Contains([]string{"zone", "start", "end", "gap", "fold", "dialect", "anchor", "seed"}, member)
		if said && value == nil || optional && !said && (value == nil || member == "gap" || member == "fold" || member == "dialect") {
			continue
		}
		t[member] = value
	}
	return t
}

func (f *jobFlags) task(faults *ruqi.Faults, argv []string) members {
	t := members{}
	switch {
	case f.given("webhook") && (f.given("command") || len(argv) > 0):
		faults.Add("/task", "", "either --webhook or a command, not both")
	case f.given("command") && len(argv) > 0:
		faults.Add("/task", "", "either --command or a program after --, not both")
	case f.given("webhook"):
		t["kind"], t["url"] = "webhook", f.webhook
	case f.given("command"):
		t["kind"], t["command"] = "command", f.command
	case len(argv) > 0:
		t["kind"], t["argv"] = "command", argv
	}
	f.refuseFor(t["kind"], faults)
	if f.given("env") {
		t["env"] = f.pairs(faults, "/task/env", f.env)
	}
	if f.given("dir") {
		t["dir"] = f.folder(faults)
	}
	f.process(t, faults)
	for flag, value := range map[string]string{"method": f.method, "expect": f.expect} {
		if f.given(flag) {
			t[flag] = value
			if f.change && value == none {
				t[flag] = nil
			}
		}
	}
	if f.given("header") {
		t["headers"] = f.headerPairs(faults)
	}
	if f.given("body") {
		t["body"] = bodyOf(f.body)
	}
	return t
}

// headerPairs reads headers as they are written in a request.
func (f *jobFlags) headerPairs(faults *ruqi.Faults) map[string]string {
	headers := map[string]string{}
	for _, line := range f.headers {
		name, value, found := strings.Cut(line, ":")
		if !found {
			faults.Add("/task/headers", "", "a header is written K: V") // what it is may be secret
			continue
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers
}

// bodyOf takes what is a JSON object or list for one, and all else for a text.
func bodyOf(text string) any {
	trimmed := strings.TrimSpace(text)
	if (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return text
}

func (f *jobFlags) policy(faults *ruqi.Faults) members {
	p := members{}
	f.length(p, "/policy/", "jitter", "jitter", f.jitter, faults)
	f.length(p, "/policy/", "kill_grace", "kill-grace", f.killGrace, faults)
	f.length(p, "/policy/", "misfire_grace", "misfire-grace", f.misfireGrace, faults)
	f.length(p, "/policy/", "timeout", "timeout", f.timeout, faults)
	f.number(p, "/policy/", "catchup_limit", "catchup-limit", f.catchupLimit, faults)
	f.number(p, "/policy/", "max_instances", "max-instances", f.maxInstance, faults)
	f.number(p, "/policy/", "max_runs", "max-runs", f.maxRuns, faults)
	if f.retry == none {
		p["retry"] = nil
		return f.words(p)
	}
	retry := members{}
	f.number(retry, "/policy/retry/", "max", "retry", f.retry, faults)
	f.length(retry, "/policy/retry/", "delay", "retry-delay", f.retryDelay, faults)
	f.length(retry, "/policy/retry/", "max_delay", "retry-max-delay", f.retryMaxDelay, faults)
	if f.given("retry-backoff") {
		retry["backoff"] = f.retryBackoff
	}
	if !f.change && !f.given("retry") {
		for _, member := range slices.Sorted(maps.Keys(retry)) {
			faults.Add("/policy/retry/"+member, "", "wants --retry N, how often a run is tried again")
		}
	}
	if len(retry) > 0 {
		p["retry"] = retry
	}
	return f.words(p)
}

// length takes over a flag that is a length of time.
func (f *jobFlags) length(into members, pointer, member, flag, value string, faults *ruqi.Faults) {
	if !f.given(flag) {
		return
	}
	into[member] = value
	if value == none {
		into[member] = nil
	} else if _, err := duration.Parse(value); err != nil {
		faults.Add(pointer+member, value, "%v", err)
	}
}

// number takes over a flag that is a whole number.
func (f *jobFlags) number(into members, pointer, member, flag, value string, faults *ruqi.Faults) {
	if !f.given(flag) {
		return
	}
	var n int64
	if err := json.Unmarshal([]byte(value), &n); value == none {
		into[member] = nil
	} else if err != nil {
		faults.Add(pointer+member, value, "%q is not a whole number", value)
	} else {
		into[member] = n
	}
}

// words takes over the flags that need no reading.
func (f *jobFlags) words(p members) members {
	for flag, value := range map[string]any{
		"coalesce": f.coalesce, "delete-when-finished": f.deleteWhenFinished, "run-on-start": f.runOnStart, "overlap": f.overlap, "on-lost": f.onLost,
	} {
		if f.given(flag) {
			p[strings.ReplaceAll(flag, "-", "_")] = value
		}
	}
	if f.onStart && !f.given("run-on-start") {
		p["run_on_start"] = true // what else could be meant
	}
	return p
}

// folder returns where the command is to start. The service has a working directory of its own, which
// nobody thinks of who types a relative path; it is taken from the one in which it is typed.
func (f *jobFlags) folder(faults *ruqi.Faults) any {
	switch {
	case f.change && (f.dir == none || f.dir == ""):
		return nil
	case strings.HasPrefix(f.dir, "~"):
		faults.Add("/task/dir", f.dir, "%q: the shell puts a home directory in the place of ~ where it is not quoted; give the whole path", f.dir)
	case f.dir == "" || filepath.IsAbs(f.dir) || strings.HasPrefix(f.dir, "/"):
	case !isLocal(f.service):
		faults.Add("/task/dir", f.dir, "%q is relative, but to what? Give a path from the root of the host on which the service runs", f.dir)
	default:
		dir, err := filepath.Abs(f.dir)
		if err != nil {
			faults.Add("/task/dir", f.dir, "%v", err)
		}
		return dir
	}
	return f.dir
}

// tagList returns the tags; "none" alone is the empty list, so that no tag can be called so here.
func (f *jobFlags) tagList(faults *ruqi.Faults) []string {
	if len(f.tags) == 1 && f.tags[0] == none {
		return []string{}
	}
	if slices.Contains(f.tags, none) {
		faults.Add("/tags", none, "none takes all tags away, and so stands alone")
	}
	return f.tags
}

// refuse refuses flags of another kind of task. Those that take something away do no harm.
func (f *jobFlags) refuse(faults *ruqi.Faults, why string, flags ...string) {
	for _, flag := range flags {
		value := strings.Trim(f.set.Lookup(flag).Value.String(), "[]")
		if !f.given(flag) || f.change && (value == none || value == "false") {
			continue
		}
		pointer := map[string]string{"limit": "/task/limits", "header": "/task/headers"}[flag]
		if pointer == "" {
			pointer = "/task/" + flag
		}
		faults.Add(pointer, "", "%s", why)
	}
}

// pairs reads K=V. In a change "none" alone takes all away, and K- one.
func (f *jobFlags) pairs(faults *ruqi.Faults, pointer string, list []string) any {
	if !f.change {
		return pairs(faults, pointer, list)
	}
	if len(list) == 1 && list[0] == none {
		return nil
	}
	var set []string
	changes := members{}
	for _, pair := range list {
		key, less := strings.CutSuffix(pair, "-")
		switch {
		case pair == none:
			faults.Add(pointer, pair, "none takes all away, and so stands alone")
		case less && key != "" && !strings.Contains(pair, "="):
			changes[key] = nil
		default:
			set = append(set, pair)
		}
	}
	for key, value := range pairs(faults, pointer, set) {
		if _, twice := changes[key]; twice {
			faults.Add(pointer, key, "%q is both set and taken away", key)
		}
		changes[key] = value
	}
	return changes
}

// pairs reads K=V.
func pairs(faults *ruqi.Faults, pointer string, list []string) map[string]string {
	m := map[string]string{}
	for _, pair := range list {
		key, value, found := strings.Cut(pair, "=")
		_, twice := m[key]
		switch {
		case !found:
			faults.Add(pointer, pair, "%q is not K=V", pair)
		case key == "":
			faults.Add(pointer, pair, "%q has no name before the =", pair)
		case twice:
			faults.Add(pointer, pair, "%q is given twice", key)
		default:
			m[key] = value
		}
	}
	return m
}

func encode(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return text, nil
}
