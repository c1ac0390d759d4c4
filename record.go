package ruqi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi/internal/secret"
)

// record turns a complete definition into what the store keeps. The caller sets state, times and version.
func (s *Scheduler) record(spec *JobSpec) (JobRecord, error) {
	s.zones.note(spec.Trigger)
	rec := JobRecord{
		ID: spec.ID, Name: spec.Name, Pool: spec.Executor, Needs: spec.Task.Needs(),
		Priority: spec.Priority, MaxInstances: spec.Policy.limit(), OnStart: spec.Policy.RunOnStart, Tags: spec.Tags,
	}
	if s.keepsLive {
		rec.Live = spec
		return rec, nil
	}
	data, err := encodeJob(*spec, specVersion)
	if errors.Is(err, ErrClosure) {
		return rec, &InvalidError{Faults: []Fault{{Pointer: "/task", Message: ErrClosure.Error() + "; register the function and refer to it by name"}}}
	}
	rec.Spec = data
	return rec, err
}

// specOf returns the definition of a record. It is shared and never changed.
// Its trigger has the days that its calendars have now, which may not be those that the record's next time was found by: see planAge.
func (s *Scheduler) specOf(rec *JobRecord) (*JobSpec, error) {
	if rec.Live != nil && s.resolved(rec.Live.Trigger) {
		return rec.Live, nil
	}
	generation := s.generation() // before: what changes meanwhile is met the next time
	if d, ok := s.decoded.get(rec.ID, rec.Version, rec.Created); ok && (d.generation == anyGeneration || d.generation == generation) {
		return d.spec, d.err
	}
	spec, err := rec.Live, error(nil)
	if spec != nil {
		spec, err = s.resolve(spec)
	} else {
		spec, err = s.decodeSpec(rec)
	}
	if s.options.Calendars == nil || err == nil && len(calendarsOf(spec.Trigger)) == 0 {
		generation = anyGeneration
	}
	s.decoded.put(rec.ID, decodedJob{rec.Version, rec.Created, spec, err, generation})
	return spec, err
}

// decodeSpec decodes the definition of a record. What cannot be read stands in it as it is.
func (s *Scheduler) decodeSpec(rec *JobRecord) (*JobSpec, error) {
	spec, err := s.registry.decodeJob(rec.Spec, false)
	spec.ID = rec.ID
	spec.Policy = spec.Policy.WithDefaults()
	s.zones.note(spec.Trigger)
	if err == nil && s.options.Calendars == nil && len(calendarsOf(spec.Trigger)) > 0 {
		err = errNoCalendars
	}
	if isNil(spec.Trigger) {
		spec.Trigger = unreadableOf(rec.Spec, "trigger")
	}
	if isNil(spec.Task) {
		spec.Task = unreadableOf(rec.Spec, "task")
	}
	return &spec, err
}

// job turns a record into what users see: a copy, down to what it points to. Whether a live instance can run it is
// for the caller to add, unless it cannot even be read here.
func (s *Scheduler) job(rec *JobRecord) Job {
	spec, err := s.specOf(rec)
	job := Job{
		JobSpec: *spec, State: rec.State, StateReason: rec.Reason,
		NextNominal: rec.NextNominal, NextDue: rec.NextDue,
		RunCount: rec.RunCount, Version: rec.Version, Created: rec.Created, Updated: rec.Updated,
	}
	job.Name, job.Tags, job.Executor, job.Priority = rec.Name, rec.Tags, rec.Pool, rec.Priority
	job.JobSpec = job.JobSpec.clone()
	if job.NextNominal == nil && job.NextDue != nil {
		job.StateReason = "no fire time was found up to " + job.NextDue.Format(time.RFC3339Nano) + "; then it is looked for further"
		job.NextDue = nil
	}
	if err != nil && rec.State != JobFinished {
		job.Parked = "cannot be read: " + err.Error()
	} else if why := s.unread.why(rec.ID); why != "" && rec.State == JobActive {
		job.Parked = "left alone: " + why
	}
	return job
}

// unreadable stands for a trigger or task that this program does not know. It
// keeps its encoding, so that nothing is lost when the job is shown or copied.
type unreadable struct {
	kind string
	data json.RawMessage
}

func unreadableOf(spec []byte, member string) unreadable {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(spec, &members) // what is not even an object shows as null
	data := members[member]
	if data == nil {
		data = json.RawMessage("null")
	}
	kind, _ := kindOf(data)
	return unreadable{kind, data}
}

func (u unreadable) Next(time.Time) (time.Time, bool) { return time.Time{}, false }
func (u unreadable) Kind() string                     { return u.kind }
func (u unreadable) MarshalJSON() ([]byte, error)     { return u.data, nil }
func (u unreadable) String() string                   { return fmt.Sprintf("unreadable %s", u.kind) }
func (u unreadable) Needs() string                    { return u.kind }

// Masked implements Masker for what is not known: what is named as a secret, and passwords of URLs, at any depth.
func (u unreadable) Masked() Task {
	var value any
	d := json.NewDecoder(bytes.NewReader(u.data))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return u
	}
	data, err := json.Marshal(masked(value))
	if err != nil {
		return u
	}
	return unreadable{u.kind, data}
}

// Unmasked implements Masker. Nobody can write what is not known here.
func (u unreadable) Unmasked(Task) (Task, error) { return u, nil }

func masked(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && text != "" && secret.Named(name) {
				v[name] = Mask
			} else {
				v[name] = masked(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case string:
		if before, password, after := secret.SplitPassword(v); password != "" {
			return before + Mask + after
		}
	}
	return value
}

// maxDecoded bounds the decoded definitions kept: at about 1 KiB each, 128 MiB for a store of that many jobs. To decode one
// takes a tenth of a millisecond, some ten times what a fire costs else.
const maxDecoded = 1 << 17

// A decodedJob is one version of a definition; a removed job's id may come back with the same version, so
// the time of creation belongs to its identity.
type decodedJob struct {
	version int64
	created time.Time
	spec    *JobSpec
	err     error
	// generation is that of the calendars by which it was decoded.
	generation int64
}

// anyGeneration is the generation of what goes by no calendars.
const anyGeneration = -1

// decodedJobs caches decoded definitions, since decoding at every fire would cost
// more than the fire.
type decodedJobs struct {
	mu   sync.Mutex // guards jobs
	jobs map[string]decodedJob
}

func (d *decodedJobs) get(id string, version int64, created time.Time) (decodedJob, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	job, ok := d.jobs[id]
	return job, ok && job.version == version && job.created.Equal(created)
}

func (d *decodedJobs) put(id string, job decodedJob) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs == nil {
		d.jobs = map[string]decodedJob{}
	}
	if _, there := d.jobs[id]; !there && len(d.jobs) >= maxDecoded {
		for other := range d.jobs { // any one: map order is as good as a clock hand here
			delete(d.jobs, other)
			break
		}
	}
	d.jobs[id] = job
}
