package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// runState is ruqi.RunState in a byte, in the order of ruqi.RunStates.
type runState uint8

const (
	queued runState = iota
	running
	succeeded
	failed
	timedOut
	cancelled
	lost
	missed
	skipped
)

var runStates = ruqi.RunStates()

func (s runState) word() ruqi.RunState { return runStates[s] }
func (s runState) ended() bool         { return s > running }

// started reports whether an ended row counts among the runs, not among the non-runs.
func (s runState) started() bool { return s < missed }

func runStateOf(word ruqi.RunState) (runState, error) {
	for i, known := range runStates {
		if word == known {
			return runState(i), nil
		}
	}
	return 0, ruqi.Invalid("/state", string(word), "a run has no such state")
}

// A run is a ruqi.Run in 112 bytes; what few rows have is in rest.
type run struct {
	id      int64
	history *history
	what    *what
	life    *life // nil: never started
	rest    *rest // nil: all of its fields are empty
	reason  string
	// Microseconds, or never.
	nominal, due, started, finished int64

	attempt int32
	at      int32 // index in life.running while it runs
	state   runState
	cause   uint8 // index in Store.causes
	empty   bool  // params are {}
	dead    bool  // picked by Clean
}

// what is the name and task that a job's rows share.
type what struct{ name, task string }

// rest is what only some rows have: those of processes, catch-ups, retries, and
// those with params or output.
type rest struct {
	parent        int64
	coalesced     int64
	coalescedFrom int64
	batch         int64
	cancelBy      string
	params        json.RawMessage
	result        json.RawMessage
	progress      *float64
	progressText  string
	exitCode      *int
	signal        string
	cpu           time.Duration
	maxRSS        int64
	output        *output
}

func (r *run) more() *rest {
	if r.rest == nil {
		r.rest = &rest{coalescedFrom: never}
	}
	return r.rest
}

func (r *run) batch() int64 {
	if r.rest == nil {
		return 0
	}
	return r.rest.batch
}

// A history is the rows of one job id; it outlives the job while there are rows.
type history struct {
	id   string
	job  *job // nil: not there
	what *what
	runs []*run // by id
	// queued are those that wait, by due time, then id.
	queued  []*run
	batches []int64 // of the running rows that are of a batch
	running int32
	batched int32 // queued rows of batches
	// started and unstarted count the ended rows by the class that Clean keeps them by.
	started, unstarted int
	dead               int  // rows that the Clean under way picked
	crowded            bool // in cleaning.crowded
	tallies            []namedTally
	// last holds the latest nominal time of each known cause: a row after it is new
	// without a search.
	last [knownCauseCount]int64
}

const knownCauseCount = 6

func knownCauses() []ruqi.Cause {
	return []ruqi.Cause{ruqi.CauseSchedule, ruqi.CauseManual, ruqi.CauseRetry,
		ruqi.CauseStartup, ruqi.CauseBackfill, ruqi.CauseDependency}
}

// The indexes of ruqi.CauseSchedule, ruqi.CauseManual and ruqi.CauseStartup in knownCauses.
const schedule, manual, startup = 0, 1, 3

func (s *Store) causeOf(word ruqi.Cause) uint8 {
	for i, known := range s.causes {
		if known == word {
			return uint8(i)
		}
	}
	s.causes = append(s.causes, word)
	return uint8(len(s.causes) - 1)
}

// checkRun finds faults of a row before anything of its step is written.
func (s *Store) checkRun(r *ruqi.Run) error {
	if _, err := runStateOf(r.State); err != nil {
		return err
	}
	if len(s.causes) == 256 && !slices.Contains(s.causes, r.Cause) {
		return ruqi.Invalid("/cause", string(r.Cause), "a store in memory tells 256 causes apart, and has seen as many")
	}
	return nil
}

// historyOf returns the rows of a job id, making the list when there is none.
func (s *Store) historyOf(id string) *history {
	h := s.histories[id]
	if h == nil {
		h = &history{id: id, job: s.jobs[id]}
		for i := range h.last {
			h.last[i] = never
		}
		s.histories[id] = h
		if h.job != nil {
			h.job.history = h
		}
	}
	return h
}

func (s *Store) forgetIfEmpty(h *history) {
	if len(h.runs) == 0 && h.job == nil {
		delete(s.histories, h.id)
	}
}

// taken reports whether the unique key has a row already.
func (h *history) taken(cause uint8, nominal int64, attempt int32) bool {
	if int(cause) < len(h.last) && nominal > h.last[cause] {
		return false
	}
	for i := len(h.runs) - 1; i >= 0; i-- {
		if r := h.runs[i]; r.nominal == nominal && r.cause == cause && r.attempt == attempt {
			return true
		}
	}
	return false
}

// removedReason is the reason of rows that waited when their job went.
const removedReason = "job removed"

// insert adds a row that checkRun found good, unless its unique key is taken: then
// it returns nil. A row born running is owner's, and started now.
func (s *Store) insert(h *history, in *ruqi.Run, owner *life, now int64) *run {
	cause, attempt, nominal := s.causeOf(in.Cause), int32(max(in.Attempt, 1)), in.Nominal.UnixMicro()
	if h.taken(cause, nominal, attempt) {
		return nil
	}
	state, _ := runStateOf(in.State)
	reason := in.Reason
	if state == queued && h.job == nil {
		state, reason = cancelled, removedReason // nothing would ever start it
	}
	r := &run{history: h, reason: reason, nominal: nominal, due: in.Due.UnixMicro(),
		started: never, finished: never, attempt: attempt, state: state, cause: cause}
	if int(cause) < len(h.last) {
		h.last[cause] = max(h.last[cause], nominal)
	}
	if h.what == nil || h.what.name != in.JobName || h.what.task != in.Task {
		h.what = &what{in.JobName, in.Task}
	}
	r.what = h.what
	r.setRest(in)
	s.rows.add(r)
	h.runs = append(h.runs, r)
	switch {
	case state == running:
		r.started = now
		s.run(r, owner)
	case state == queued:
		s.enqueue(r)
	default:
		r.started, r.finished = micros(in.Started), micros(in.Finished)
		if r.finished == never {
			r.finished = now
		}
		if in.Owner != (ruqi.Owner{}) {
			r.life = s.lives[in.Owner]
			if r.life == nil {
				r.life = &life{owner: in.Owner}
			}
		}
		s.countEnded(r)
	}
	return r
}

func (r *run) setRest(in *ruqi.Run) {
	r.empty = string(in.Params) == "{}"
	if in.Params != nil && !r.empty {
		r.more().params = in.Params
	}
	if in.ParentID != 0 || in.Coalesced != 0 || in.CoalescedFrom != nil || in.Batch != 0 ||
		in.CancelBy != "" {
		m := r.more()
		m.parent, m.coalesced, m.coalescedFrom, m.batch = in.ParentID, in.Coalesced, micros(in.CoalescedFrom), in.Batch
		m.cancelBy = in.CancelBy
	}
	r.setEnd(in)
}

// setEnd takes over the facts that an end brings.
func (r *run) setEnd(in *ruqi.Run) {
	if in.Result != nil {
		r.more().result = in.Result
	}
	r.setProgress(in.Progress, in.ProgressText)
	if in.ExitCode != nil || in.Signal != "" || in.CPU != 0 || in.MaxRSS != 0 || r.rest != nil {
		m := r.more()
		m.exitCode, m.signal, m.cpu, m.maxRSS = in.ExitCode, in.Signal, in.CPU.Truncate(time.Microsecond), in.MaxRSS
	}
}

// setProgress takes over how far the run is, if that is told.
func (r *run) setProgress(progress *float64, text string) {
	if progress != nil {
		r.more().progress, r.rest.progressText = progress, text
	}
}

// run gives a row to its owner. Its job is placed by the caller.
func (s *Store) run(r *run, owner *life) {
	r.state, r.life = running, owner
	owner.add(r)
	r.history.running++
	s.running++
	if b := r.batch(); b != 0 {
		r.history.batches = append(r.history.batches, b)
	}
}

func compareDue(a, b *run) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
}

func (s *Store) enqueue(r *run) {
	h := r.history
	at, _ := slices.BinarySearchFunc(h.queued, r, compareDue)
	h.queued = slices.Insert(h.queued, at, r)
	s.waiting[h] = struct{}{}
	s.queued++
	if r.batch() != 0 {
		h.batched++
	}
}

func (s *Store) dequeue(r *run) {
	h := r.history
	at, _ := slices.BinarySearchFunc(h.queued, r, compareDue)
	h.queued = slices.Delete(h.queued, at, at+1)
	if len(h.queued) == 0 {
		h.queued = nil
		delete(s.waiting, h)
	}
	s.queued--
	if r.batch() != 0 {
		h.batched--
	}
}

// hasten makes queued rows due now that would be later, but those of further attempts.
func (s *Store) hasten(h *history, now int64) {
	if h == nil {
		return
	}
	for _, r := range slices.Clone(h.queued) {
		if r.due > now && s.causes[r.cause] != ruqi.CauseRetry {
			s.dequeue(r)
			r.due = now
			s.enqueue(r)
		}
	}
}

// end ends a row that is alive. Its job is placed by the caller.
func (s *Store) end(r *run, state runState, reason string, finished int64) {
	h := r.history
	if r.state == queued {
		s.dequeue(r)
	} else {
		r.life.drop(r)
		s.forgetLife(r.life)
		h.running--
		s.running--
		if b := r.batch(); b != 0 {
			at := slices.Index(h.batches, b)
			h.batches = slices.Delete(h.batches, at, at+1)
		}
	}
	r.state, r.reason, r.finished = state, reason, finished
	s.countEnded(r)
}

func (s *Store) countEnded(r *run) {
	h := r.history
	if r.state.started() {
		h.started++
	} else {
		h.unstarted++
	}
	s.count(r, +1)
	s.rows.noteEnd(r)
	if !h.crowded && s.clean.over(h) {
		h.crowded = true
		s.clean.crowded = append(s.clean.crowded, h)
	}
}

// free reports whether nothing but its due time holds a queued row back. The
// rows of its batch before it in the queue are for the caller to know.
func (h *history) free(r *run, j *job) bool {
	if r.batch() != 0 {
		return j.state != paused && !slices.Contains(h.batches, r.rest.batch)
	}
	return (r.cause == manual || j.state != paused) && j.active() < j.limit()
}

// firstFree returns the first queued row that only time holds back, or nil.
func (h *history) firstFree(j *job) *run {
	if h.batched == 0 && j.active() >= j.limit() {
		return nil // however many wait
	}
	for _, r := range h.queued {
		if h.free(r, j) {
			return r
		}
	}
	return nil
}

// startable returns the queued rows that may start now, oldest first: of each batch
// one, of the others as many as there is room for.
func (h *history) startable(j *job, now int64) []*run {
	var rows []*run
	var batches []int64
	room := j.limit() - j.active()
	for _, r := range h.queued {
		if r.due > now {
			break
		}
		b := r.batch()
		switch {
		case !h.free(r, j), b != 0 && slices.Contains(batches, b):
			continue
		case b != 0:
			batches = append(batches, b)
		case room == 0:
			continue
		default:
			room--
		}
		rows = append(rows, r)
		if room == 0 && h.batched == 0 {
			break
		}
	}
	return rows
}

// view fills in a copy for the outside.
func (s *Store) view(r *run, out *ruqi.Run) {
	out.ID, out.Attempt, out.JobID = r.id, int(r.attempt), r.history.id
	out.JobName, out.Task = r.what.name, r.what.task
	out.Cause, out.State, out.Reason = s.causes[r.cause], r.state.word(), r.reason
	out.Nominal, out.Due = timeOf(r.nominal), timeOf(r.due)
	out.Started, out.Finished = timePtr(r.started), timePtr(r.finished)
	if r.life != nil {
		out.Owner = r.life.owner
	}
	if r.empty {
		out.Params = json.RawMessage("{}")
	}
	m := r.rest
	if m == nil {
		return
	}
	out.ParentID, out.Coalesced, out.CoalescedFrom, out.Batch = m.parent, m.coalesced, timePtr(m.coalescedFrom), m.batch
	out.CancelBy, out.Signal, out.CPU, out.MaxRSS = m.cancelBy, m.signal, m.cpu, m.maxRSS
	if m.params != nil {
		out.Params = slices.Clone(m.params)
	}
	out.Result = slices.Clone(m.result)
	out.Progress, out.ProgressText, out.ExitCode = clonePtr(m.progress), m.progressText, clonePtr(m.exitCode)
	if m.output != nil {
		out.OutputBytes, out.OutputCut = m.output.end, m.output.cut()
	}
}

func (s *Store) views(rows []*run) []ruqi.Run {
	if len(rows) == 0 {
		return nil
	}
	out := make([]ruqi.Run, len(rows))
	for i, r := range rows {
		s.view(r, &out[i])
	}
	return out
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// note adds a late word to the end of a reason; the same word twice says no more.
func (r *run) note(owner ruqi.Owner, done *ruqi.Run) {
	text := "late word of " + owner.Instance + " (epoch " + strconv.FormatInt(owner.Epoch, 10) + "): " + string(done.State)
	switch {
	case r.reason == "":
		r.reason = text
	case len(r.reason) >= len(text) && r.reason[len(r.reason)-len(text):] == text:
	default:
		r.reason += "; " + text
	}
}
