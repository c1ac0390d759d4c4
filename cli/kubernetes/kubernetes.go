// Package kubernetes reads CronJobs of Kubernetes as job definitions: what they say of time, overlap, retries, limits and of
// their one container's command. Images, volumes and rights have no twin here; what is left out is named.
package kubernetes

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// A Job is a CronJob as a definition in the API's shape.
type Job struct {
	// Where is FILE:LINE of the CronJob.
	Where string
	// Source is NAMESPACE/NAME of the CronJob, NAME alone where it names no namespace. The id is Options.Prefix and that.
	Source     string
	Definition map[string]any
	// Notes say what of it was left out, or means something else here.
	Notes []string
}

// A Result is what was found in a file.
type Result struct {
	Jobs []Job
	// Skipped are other documents, Refused what is wrong with CronJobs that cannot be taken, each "FILE:LINE: KIND NAME: why".
	Skipped, Refused []string
	// NotTaken is how many CronJobs Refused is about: one may have several faults.
	NotTaken int
}

// Options are what a manifest does not say.
type Options struct {
	// Zone is where CronJobs without a time zone live; empty: the service's.
	Zone string
	// Prefix stands in front of the ids.
	Prefix string
	// Wrong says what is wrong with a definition, of which parts may be missing, so that of a CronJob that cannot be taken all is told.
	// Nil: only what of the CronJob has no twin here is told.
	Wrong func(definition map[string]any) []ruqi.Fault
}

// Defaults of Kubernetes (batch/v1), which a manifest that leaves them out relies on.
const (
	defaultBackoffLimit = 6
	firstBackoff        = 10 * time.Second
	lastBackoff         = 6 * time.Minute
	defaultGrace        = 30 * time.Second
)

// mostRetries is the most that policy.retry.max takes.
const mostRetries = 100

// maxAnchors bounds the anchors, aliases, tags and merges of a file: more than anybody writes.
const maxAnchors = 1000

type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Labels    map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec struct {
		Schedule          string  `yaml:"schedule"`
		TimeZone          *string `yaml:"timeZone"`
		ConcurrencyPolicy string  `yaml:"concurrencyPolicy"`
		StartingDeadline  *int64  `yaml:"startingDeadlineSeconds"`
		Suspend           bool    `yaml:"suspend"`
		SuccessfulLimit   *int64  `yaml:"successfulJobsHistoryLimit"`
		FailedLimit       *int64  `yaml:"failedJobsHistoryLimit"`
		JobTemplate       struct {
			Spec struct {
				BackoffLimit   *int64 `yaml:"backoffLimit"`
				ActiveDeadline *int64 `yaml:"activeDeadlineSeconds"`
				Completions    *int64 `yaml:"completions"`
				Parallelism    *int64 `yaml:"parallelism"`
				Template       struct {
					Spec podSpec `yaml:"spec"`
				} `yaml:"template"`
			} `yaml:"spec"`
		} `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

type podSpec struct {
	Grace          *int64      `yaml:"terminationGracePeriodSeconds"`
	InitContainers []any       `yaml:"initContainers"`
	Containers     []container `yaml:"containers"`
	Volumes        []any       `yaml:"volumes"`
	ServiceAccount string      `yaml:"serviceAccountName"`
	Security       any         `yaml:"securityContext"`
}

type container struct {
	Name       string   `yaml:"name"`
	Image      string   `yaml:"image"`
	Command    []string `yaml:"command"`
	Args       []string `yaml:"args"`
	WorkingDir string   `yaml:"workingDir"`
	Env        []struct {
		Name      string  `yaml:"name"`
		Value     *string `yaml:"value"`
		ValueFrom any     `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom   []any `yaml:"envFrom"`
	Resources any   `yaml:"resources"`
	Security  any   `yaml:"securityContext"`
}

// Read reads the documents of a file. Its error is for a file that is not YAML in UTF-8.
func Read(name string, data []byte, options Options) (Result, error) {
	var r Result
	file, err := jobfile.Parse(name, data, maxAnchors, fmt.Sprintf("more than %d anchors, aliases, merges and tags", maxAnchors))
	if err != nil {
		return r, err
	}
	for _, doc := range file.Docs {
		r.document(name, doc.Body, options)
	}
	return r, nil
}

// document reads one document, or the items of a List.
func (r *Result) document(name string, node ast.Node, options Options) {
	where := fmt.Sprintf("%s:%d", name, lineOf(node))
	var head struct {
		Kind  string `yaml:"kind"`
		Items []any  `yaml:"items"`
	}
	if err := yaml.NodeToValue(node, &head); err != nil {
		r.refuse(where, "not a manifest: "+firstLine(err))
		return
	}
	if head.Kind == "List" || head.Kind == "CronJobList" {
		switch items := member(node, "items").(type) {
		case *ast.SequenceNode:
			for _, item := range items.Values {
				r.document(name, item, options)
			}
		case *ast.AliasNode:
			r.refuse(where+": "+head.Kind, "its items stand elsewhere (an alias), where they are not read")
		}
		return
	}
	var m manifest
	if head.Kind != "CronJob" {
		_ = yaml.NodeToValue(node, &m) // for its name alone; whatever else it holds is of no interest
		r.Skipped = append(r.Skipped, fmt.Sprintf("%s: %s: not a CronJob", where, titled(orUnknown(head.Kind), m.Metadata.Name)))
		return
	}
	if err := yaml.NodeToValue(node, &m); err != nil {
		r.refuse(where+": "+titled(head.Kind, m.Metadata.Name), firstLine(err))
		return
	}
	job, faults := m.job(options)
	if len(faults) > 0 {
		if options.Wrong != nil {
			for _, fault := range options.Wrong(job.Definition) {
				faults = append(faults, said(fault))
			}
		}
		r.refuse(where+": "+titled(head.Kind, m.Metadata.Name), faults...)
		return
	}
	job.Where = where
	r.Jobs = append(r.Jobs, job)
}

// refuse notes all that is wrong with one document.
func (r *Result) refuse(what string, faults ...string) {
	for _, fault := range faults {
		r.Refused = append(r.Refused, what+": "+fault)
	}
	r.NotTaken++
}

// member returns what a mapping has under a key, or nil.
func member(node ast.Node, key string) ast.Node {
	var values []*ast.MappingValueNode
	switch n := unanchored(node).(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	}
	for _, v := range values {
		if v.Key.GetToken().Value == key {
			return unanchored(v.Value)
		}
	}
	return nil
}

// unanchored is the node itself where it has an anchor for others to refer to.
func unanchored(node ast.Node) ast.Node {
	if a, anchored := node.(*ast.AnchorNode); anchored {
		return a.Value
	}
	return node
}

// lineOf is the line of a node's first key.
func lineOf(node ast.Node) int {
	switch n := unanchored(node).(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position.Line
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position.Line
	}
	return node.GetToken().Position.Line
}

// firstLine says what is wrong, without the types of this program.
func firstLine(err error) string {
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) && wrong.Token != nil {
		return fmt.Sprintf("%d:%d: %s: %s is wanted", wrong.Token.Position.Line, wrong.Token.Position.Column, wrong.Token.Value, wantedWords[wrong.DstType.Kind()])
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// wantedWords say what the members of a manifest are.
var wantedWords = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Map: "a mapping", reflect.Slice: "a list", reflect.String: "a text", reflect.Struct: "a mapping",
}

func orUnknown(kind string) string {
	if kind == "" {
		return "a document without a kind"
	}
	return kind
}

// titled is by what a document is told: its kind, and its name if it has one.
func titled(kind, name string) string { return strings.TrimSpace(kind + " " + name) }

// members are what parts of a definition come from.
var members = []struct{ pointer, name string }{
	{"/trigger/zone", "timeZone"}, {"/trigger", "schedule"}, {"/policy/misfire_grace", "startingDeadlineSeconds"}, {"/policy/timeout", "activeDeadlineSeconds"},
	{"/policy/kill_grace", "terminationGracePeriodSeconds"}, {"/policy/retry", "backoffLimit"}, {"/policy/overlap", "concurrencyPolicy"}, {"/task/argv", "command"},
	{"/task/env", "env"}, {"/task/dir", "workingDir"}, {"/labels", "metadata.labels"}, {"/id", "metadata.name"}, {"/name", "metadata.name"},
}

// Fault tells what is wrong with the job's definition by the member of the CronJob that it comes from.
func (j Job) Fault(fault ruqi.Fault) string {
	return fmt.Sprintf("%s: CronJob %s: %s", j.Where, j.Definition["id"], said(fault))
}

func said(fault ruqi.Fault) string {
	name, message := jobfile.Dotted(fault.Pointer), fault.Message
	for _, m := range members {
		if object.Within(m.pointer, fault.Pointer) {
			name = m.name
			break
		}
	}
	if name == "timeZone" {
		message = strings.TrimPrefix(message, "tz: ")
	}
	if name != "" {
		message = name + ": " + message
	}
	return message
}

// job makes the definition, or says why there is none.
func (m *manifest) job(options Options) (job Job, faults []string) {
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	note := func(format string, args ...any) { job.Notes = append(job.Notes, fmt.Sprintf(format, args...)) }
	spec, pod := &m.Spec, &m.Spec.JobTemplate.Spec.Template.Spec
	if m.APIVersion != "batch/v1" && m.APIVersion != "batch/v1beta1" {
		refuse("apiVersion is %q; batch/v1 and batch/v1beta1 are known", m.APIVersion)
	}
	if m.Metadata.Name == "" {
		refuse("it has no name")
	}
	trigger, why := m.trigger(options)
	if why != "" {
		refuse("schedule %q: %s", spec.Schedule, why)
	}
	policy := map[string]any{"kill_grace": seconds(pod.Grace, defaultGrace)}
	if pod.Grace != nil && *pod.Grace <= 0 {
		policy["kill_grace"] = duration.Format(time.Millisecond) // the shortest there is
	}
	switch spec.ConcurrencyPolicy {
	case "", "Allow":
		policy["overlap"] = "allow"
	case "Forbid":
		policy["overlap"] = "skip"
	case "Replace":
		policy["overlap"] = "cancel_running"
	default:
		refuse("concurrencyPolicy is %q; Allow, Forbid and Replace are known", spec.ConcurrencyPolicy)
	}
	switch deadline := spec.StartingDeadline; {
	case deadline == nil:
	case *deadline < 1:
		refuse("startingDeadlineSeconds is %d: no run could be in time", *deadline)
	default:
		policy["misfire_grace"] = seconds(deadline, 0)
	}
	template := &spec.JobTemplate.Spec
	limit := int64(defaultBackoffLimit)
	if template.BackoffLimit != nil {
		limit = *template.BackoffLimit
	}
	if limit > mostRetries {
		note("backoffLimit %d: %d retries are the most here", limit, mostRetries)
		limit = mostRetries
	}
	if limit > 0 {
		policy["retry"] = map[string]any{"max": limit, "delay": duration.Format(firstBackoff), "backoff": "exponential", "max_delay": duration.Format(lastBackoff)}
	}
	if template.ActiveDeadline != nil {
		policy["timeout"] = seconds(template.ActiveDeadline, 0)
		if limit > 0 {
			note("activeDeadlineSeconds holds for each attempt, not for all together")
		}
	}
	several := func(what string, n *int64) {
		if n != nil && *n > 1 {
			refuse("%s is %d; a run here is one process", what, *n)
		}
	}
	several("completions", template.Completions)
	several("parallelism", template.Parallelism)
	if spec.SuccessfulLimit != nil || spec.FailedLimit != nil {
		note("history limits are left out: the service keeps history by its own bounds")
	}
	task, more := pod.task(note)
	faults = append(faults, more...)
	job.Source = m.Metadata.Name
	if m.Metadata.Namespace != "" {
		job.Source = m.Metadata.Namespace + "/" + job.Source
	}
	job.Definition = map[string]any{"id": options.Prefix + job.Source, "name": m.Metadata.Name, "trigger": trigger, "task": task, "policy": policy}
	if len(m.Metadata.Labels) > 0 {
		job.Definition["labels"] = m.Metadata.Labels
	}
	if spec.Suspend {
		job.Definition["state"] = "paused"
	}
	return job, faults
}

func seconds(n *int64, otherwise time.Duration) string {
	if n == nil {
		return duration.Format(otherwise)
	}
	const most = math.MaxInt64 / int64(time.Second)
	return duration.Format(time.Duration(min(max(*n, -most), most)) * time.Second)
}

// trigger reads the schedule, or says why it cannot be.
func (m *manifest) trigger(options Options) (trigger map[string]any, why string) {
	schedule := strings.TrimSpace(m.Spec.Schedule)
	switch {
	case schedule == "":
		return nil, "is missing"
	case strings.Contains(schedule, "TZ="):
		return nil, "holds a zone, which Kubernetes refuses; timeZone is its place"
	}
	if every, found := strings.CutPrefix(schedule, "@every "); found {
		return map[string]any{"kind": "interval", "every": strings.TrimSpace(every)}, ""
	}
	trigger = map[string]any{"kind": "cron", "expr": schedule, "dialect": "crontab"}
	zone := options.Zone
	if m.Spec.TimeZone != nil {
		zone = *m.Spec.TimeZone
	}
	if zone != "" {
		trigger["zone"] = zone
	}
	return trigger, ""
}

// task reads the one container's command.
func (p *podSpec) task(note func(string, ...any)) (task map[string]any, faults []string) {
	if len(p.InitContainers) > 0 {
		faults = append(faults, fmt.Sprintf("%d init containers; a run here is one process", len(p.InitContainers)))
	}
	if len(p.Containers) != 1 {
		return nil, append(faults, fmt.Sprintf("%d containers; a run here is one process", len(p.Containers)))
	}
	c := &p.Containers[0]
	if len(c.Command) == 0 {
		return nil, append(faults, fmt.Sprintf("container %s has no command; what its image starts is not known here", c.Name))
	}
	if c.Image != "" {
		note("image %s is left out: the command runs on the service's host", c.Image)
	}
	left := func(there bool, what string) {
		if there {
			note("%s: left out", what)
		}
	}
	left(len(p.Volumes) > 0, "volumes")
	left(c.Resources != nil, "resources")
	left(p.Security != nil || c.Security != nil, "securityContext")
	left(p.ServiceAccount != "", "serviceAccountName")
	env := map[string]string{}
	for _, v := range c.Env {
		if v.ValueFrom != nil {
			note("env %s is left out: it comes from elsewhere (valueFrom)", v.Name)
			continue
		}
		value := ""
		if v.Value != nil {
			value = expand(*v.Value, env)
		}
		if len(value) > maxValue {
			return nil, append(faults, fmt.Sprintf("env %s is longer than 128 KiB with its variables", v.Name))
		}
		env[v.Name] = value
	}
	if len(c.EnvFrom) > 0 {
		note("envFrom is left out: its variables come from elsewhere")
	}
	argv := make([]string, 0, len(c.Command)+len(c.Args))
	for _, list := range [][]string{c.Command, c.Args} {
		for _, arg := range list {
			if arg = expand(arg, env); len(arg) > maxValue {
				return nil, append(faults, "the command has an argument longer than 128 KiB with its variables")
			}
			argv = append(argv, arg)
		}
	}
	task = map[string]any{"kind": "command", "argv": argv}
	if len(env) > 0 {
		task["env"] = env
	}
	if c.WorkingDir != "" {
		task["dir"] = c.WorkingDir
	}
	return task, faults
}

// maxValue bounds arguments and variables, in bytes: Linux takes none that are longer.
const maxValue = 128 << 10

// expand puts variables in the place of $(NAME), as Kubernetes does: what is not defined stays as it is, and $$ is one $. It ends early
// where the text has become longer than maxValue.
func expand(text string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() <= maxValue; i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			b.WriteByte('$')
			i++
			continue
		case '(':
			if end := strings.IndexByte(text[i+2:], ')'); end >= 0 {
				name := text[i+2 : i+2+end]
				if value, defined := env[name]; defined {
					b.WriteString(value)
				} else {
					b.WriteString(text[i : i+3+end])
				}
				i += 2 + end
				continue
			}
		}
		b.WriteByte('$')
	}
	return b.String()
}
