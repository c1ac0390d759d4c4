package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// jobState is ruqi.JobState in a byte.
type jobState uint8

const (
	active jobState = iota
	paused
	finished
	jobStates
)

func (s jobState) word() ruqi.JobState {
	return [...]ruqi.JobState{ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished}[s]
}

func jobStateOf(word ruqi.JobState) jobState {
	switch word {
	case ruqi.JobPaused:
		return paused
	case ruqi.JobFinished:
		return finished
	}
	return active
}

// A job is a ruqi.JobRecord in 128 bytes: a million of them are to fit in the
// memory of a small machine. What its definition holds already is not held again.
type job struct {
	id, name         string
	live             *ruqi.JobSpec
	extra            *extra // nil: all of its fields are empty
	group            *group
	history          *history // nil: no run yet
	nominal, due     int64    // microseconds, or never
	version          int64
	runCount         int64
	created, updated int64
	priority         int32
	maxInstances     int32
	at               int32 // index in the heap that place names
	state            jobState
	place            place
	gone             bool // removed, but still in the ordering
	claimed          bool // offered by the claim under way, and not planned yet
}

// extra is what few jobs have, or jobs without a live definition.
type extra struct {
	spec    []byte
	tags    []string // where they are not those of live
	reason  string
	onStart bool // runs when an instance starts
}

func (j *job) onStart() bool { return j.extra != nil && j.extra.onStart }

func (j *job) reason() string {
	if j.extra == nil {
		return ""
	}
	return j.extra.reason
}

func (j *job) setReason(reason string) {
	switch {
	case j.extra != nil:
		j.extra.reason = reason
	case reason != "":
		j.extra = &extra{reason: reason}
	}
}

// tags returns the job's tags, to look at only.
func (j *job) tags() []string {
	if j.extra != nil && j.extra.tags != nil {
		return j.extra.tags
	}
	if j.live != nil {
		return j.live.Tags
	}
	return nil
}

// set takes over a record; id, created and run count of an existing job stay.
func (j *job) set(r *ruqi.JobRecord) {
	j.name = r.Name
	if j.name == j.id {
		j.name = j.id // one string, not two
	}
	j.state = jobStateOf(r.State)
	j.priority = int32(r.Priority)
	j.maxInstances = int32(r.MaxInstances)
	j.nominal, j.due = micros(r.NextNominal), micros(r.NextDue)
	j.version = r.Version
	j.live, j.extra = r.Live, nil
	var e extra
	e.reason, e.onStart = r.Reason, r.OnStart
	if r.Live == nil {
		e.spec = r.Spec
	}
	if r.Live == nil || !slices.Equal(r.Tags, r.Live.Tags) {
		e.tags = r.Tags
		if e.tags == nil && r.Live != nil {
			e.tags = []string{} // none, whatever the definition says
		}
	}
	if e.reason != "" || e.spec != nil || e.tags != nil || e.onStart {
		kept := e // few jobs have any, and the others allocate nothing
		j.extra = &kept
	}
}

// record fills in a copy for the outside; its next times go where the caller has room for both, if it has.
func (j *job) record(r *ruqi.JobRecord, room *[2]time.Time) {
	r.ID, r.Name = j.id, j.name
	r.State, r.Reason = j.state.word(), j.reason()
	r.Pool, r.Needs = j.group.key.Pool, j.group.key.Need
	r.Priority, r.MaxInstances, r.OnStart = int(j.priority), int(j.maxInstances), j.onStart()
	if tags := j.tags(); len(tags) > 0 {
		r.Tags = slices.Clone(tags)
	}
	if room == nil && (j.nominal != never || j.due != never) {
		room = new([2]time.Time) // both in one allocation
	}
	if j.nominal != never {
		room[0] = timeOf(j.nominal)
		r.NextNominal = &room[0]
	}
	if j.due != never {
		room[1] = timeOf(j.due)
		r.NextDue = &room[1]
	}
	r.Version, r.RunCount = j.version, j.runCount
	r.Created, r.Updated = timeOf(j.created), timeOf(j.updated)
	r.Live = j.live
	if j.extra != nil && j.extra.spec != nil {
		r.Spec = slices.Clone(j.extra.spec)
	}
}

// active counts the runs that max_instances bounds.
func (j *job) active() int {
	if j.history == nil {
		return 0
	}
	return int(j.history.running) + int(j.history.batched)
}

// waiting counts the fires that wait for others to end.
func (j *job) waiting() (n int) {
	if j.history != nil {
		for _, r := range j.history.queued {
			if r.cause == schedule && j.history.batch(r) == 0 {
				n++
			}
		}
	}
	return n
}

// idle reports whether no run of the job is alive.
func (j *job) idle() bool {
	return j.history == nil || j.history.running == 0 && len(j.history.queued) == 0
}

// limit is the job's MaxInstances, at least one: no job is kept from running for ever.
func (j *job) limit() int { return max(int(j.maxInstances), 1) }

// addJob makes a job that is not there yet; the caller sets, counts and places it.
func (s *Store) addJob(id string, now int64) *job {
	j := &job{id: id, created: now, history: s.orphans[id], nominal: never, due: never}
	if j.history != nil {
		j.history.job = j
		delete(s.orphans, id)
	}
	s.jobs[id] = j
	s.order.add(j)
	return j
}

// removeJob deletes a job. Its queued rows become cancelled, the others stay.
func (s *Store) removeJob(j *job, now int64) {
	s.leave(j)
	delete(s.jobs, j.id)
	s.order.remove(j)
	h := j.history
	if h == nil {
		return
	}
	h.job = nil
	s.orphans[j.id] = h
	for _, r := range slices.Clone(h.queued) {
		s.end(r, cancelled, removedReason, now)
	}
	s.forgetIfEmpty(h)
}

// removeIfDone deletes a job that has finished and has no run alive.
func (s *Store) removeIfDone(j *job, now int64) {
	if j != nil && !j.gone && j.state == finished && j.idle() {
		s.removeJob(j, now)
	}
}

// matches reports whether the query, its ids apart, selects the job.
func matches(q *ruqi.JobQuery, lowered string, j *job) bool {
	if q.State != "" && j.state.word() != q.State ||
		q.Name != "" && j.name != q.Name ||
		q.Pool != "" && j.group.key.Pool != q.Pool ||
		q.Version != 0 && j.version != q.Version || q.OnStart && !j.onStart() {
		return false
	}
	if len(q.Tags) > 0 {
		tags := j.tags()
		for _, tag := range q.Tags {
			if !slices.Contains(tags, tag) {
				return false
			}
		}
	}
	return lowered == "" || strings.Contains(lowerASCII(j.id), lowered) || strings.Contains(lowerASCII(j.name), lowered)
}

// lowerASCII makes the letters A to Z small, and those only.
func lowerASCII(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
