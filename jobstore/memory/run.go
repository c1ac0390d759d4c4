package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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

// A run is a ruqi.Run in 64 bytes without a pointer: the garbage collector never looks at rows, and to write one needs no
// write barrier. What few rows have is in extras.
type run struct {
	id int64
	// Microseconds, or never.
	nominal, due, started, finished int64

	history int32 // number of its history
	what    int32 // index in history.whats
	life    int32 // number of its life; 0: never started
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

// batch is that of a row of the history.
func (h *history) batch(r *run) int64 {
	if m := h.rows.rest(r); m != nil {
		return m.batch
	}
	return 0
}

// A history is the rows of one job id; it outlives the job while there are rows.
type history struct {
	id     string
	job    *job // nil: not there
	rows   *pages
	whats  []what  // the last one is the newest
	runs   []int64 // ids of its rows, in their order
	number int32
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
	// Most jobs have had one name and task, and so one tally: both have their room here, not in pieces of their own.
	firstWhat  [1]what
	firstTally [1]namedTally
}

// whatsLooked bounds the search for a name and task among those that a history has had.
const whatsLooked = 16

// whatOf returns the index of a name and task, most often those of the newest row.
func (h *history) whatOf(name, task string) int32 {
	for i := len(h.whats) - 1; i >= max(0, len(h.whats)-whatsLooked); i-- {
		if h.whats[i].name == name && h.whats[i].task == task {
			return int32(i)
		}
	}
	if len(h.whats) >= whatsLooked && len(h.whats) > 2*len(h.runs) {
		h.forgetWhats()
	}
	h.whats = append(h.whats, what{name, task})
	return int32(len(h.whats) - 1)
}

// forgetWhats drops what no row names any more.
func (h *history) forgetWhats() {
	old := h.whats
	h.firstWhat, h.whats = [1]what{}, nil
	moved := make(map[int32]int32, len(h.runs))
	for _, id := range h.runs {
		r := h.rows.find(id)
		to, known := moved[r.what]
		if !known {
			to = int32(len(h.whats))
			h.whats = append(h.whats, old[r.what])
			moved[r.what] = to
		}
		r.what = to
	}
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

// history returns the rows of a job id, nil when there is none.
func (s *Store) history(id string) *history {
	if j := s.jobs[id]; j != nil {
		return j.history
	}
	return s.orphans[id]
}

// historyOf is history for who wants to write there.
func (s *Store) historyOf(id string) *history {
	if h := s.history(id); h != nil {
		return h
	}
	return s.newHistory(id, s.jobs[id])
}

// newHistory makes the list of rows of a job id that has none; j is nil where there is no job.
func (s *Store) newHistory(id string, j *job) *history {
	h := &history{id: id, job: j, rows: &s.rows}
	for i := range h.last {
		h.last[i] = never
	}
	h.whats, h.tallies = h.firstWhat[:0], h.firstTally[:0]
	h.number = s.byNumber.add(h)
	if j != nil {
		j.history = h
	} else {
		s.orphans[id] = h
	}
	return h
}

func (s *Store) forgetIfEmpty(h *history) {
	if len(h.runs) == 0 && h.job == nil && s.orphans[h.id] == h {
		delete(s.orphans, h.id)
		s.byNumber.drop(h.number)
	}
}

// taken reports whether the unique key has a row already.
func (h *history) taken(cause uint8, nominal int64, attempt int32) bool {
	if int(cause) < len(h.last) && nominal > h.last[cause] {
		return false
	}
	for i := len(h.runs) - 1; i >= 0; i-- {
		if r := h.rows.find(h.runs[i]); r.nominal == nominal && r.cause == cause && r.attempt == attempt {
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
	r := s.rows.add()
	r.history, r.nominal, r.due, r.started, r.finished = h.number, nominal, in.Due.UnixMicro(), never, never
	r.attempt, r.state, r.cause = attempt, state, cause
	if int(cause) < len(h.last) {
		h.last[cause] = max(h.last[cause], nominal)
	}
	r.what = h.whatOf(in.JobName, in.Task)
	h.runs = append(h.runs, r.id)
	s.rows.setReason(r, reason)
	s.setRest(r, in)
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
			l := s.lives[in.Owner]
			if l == nil {
				l = &life{owner: in.Owner}
			}
			s.give(r, l)
		}
		s.countEnded(r)
	}
	return r
}

func (s *Store) setRest(r *run, in *ruqi.Run) {
	r.empty = string(in.Params) == "{}"
	if in.Params != nil && !r.empty {
		s.rows.more(r).params = in.Params
	}
	if in.ParentID != 0 || in.Coalesced != 0 || in.CoalescedFrom != nil || in.Batch != 0 ||
		in.CancelBy != "" {
		m := s.rows.more(r)
		m.parent, m.coalesced, m.coalescedFrom, m.batch = in.ParentID, in.Coalesced, micros(in.CoalescedFrom), in.Batch
		m.cancelBy = in.CancelBy
	}
	s.setEnd(r, in)
}

// setEnd takes over the facts that an end brings.
func (s *Store) setEnd(r *run, in *ruqi.Run) {
	if in.Result != nil {
		s.rows.more(r).result = in.Result
	}
	s.setProgress(r, in.Progress, in.ProgressText)
	if in.ExitCode != nil || in.Signal != "" || in.CPU != 0 || in.MaxRSS != 0 || s.rows.rest(r) != nil {
		m := s.rows.more(r)
		m.exitCode, m.signal, m.cpu, m.maxRSS = in.ExitCode, in.Signal, in.CPU.Truncate(time.Microsecond), in.MaxRSS
	}
}

// setProgress takes over how far the run is, if that is told.
func (s *Store) setProgress(r *run, progress *float64, text string) {
	if progress != nil {
		m := s.rows.more(r)
		m.progress, m.progressText = progress, text
	}
}

// run gives a row to its owner. Its job is placed by the caller.
func (s *Store) run(r *run, owner *life) {
	r.state = running
	s.give(r, owner)
	owner.add(r)
	h := s.historyAt(r)
	h.running++
	s.running++
	if b := h.batch(r); b != 0 {
		h.batches = append(h.batches, b)
	}
}

func compareDue(a, b *run) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
}

func (s *Store) enqueue(r *run) {
	h := s.historyAt(r)
	at, _ := slices.BinarySearchFunc(h.queued, r, compareDue)
	h.queued = slices.Insert(h.queued, at, r)
	s.waiting[h] = struct{}{}
	s.queued++
	if h.batch(r) != 0 {
		h.batched++
	}
}

func (s *Store) dequeue(r *run) {
	h := s.historyAt(r)
	at, _ := slices.BinarySearchFunc(h.queued, r, compareDue)
	h.queued = slices.Delete(h.queued, at, at+1)
	if len(h.queued) == 0 {
		h.queued = nil
		delete(s.waiting, h)
	}
	s.queued--
	if h.batch(r) != 0 {
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
	h := s.historyAt(r)
	if r.state == queued {
		s.dequeue(r)
	} else {
		l := s.lifeOf(r)
		l.drop(r)
		s.forgetLife(l)
		h.running--
		s.running--
		if b := h.batch(r); b != 0 {
			at := slices.Index(h.batches, b)
			h.batches = slices.Delete(h.batches, at, at+1)
		}
	}
	r.state, r.finished = state, finished
	s.rows.setReason(r, reason)
	s.countEnded(r)
}

func (s *Store) countEnded(r *run) {
	h := s.historyAt(r)
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
	if b := h.batch(r); b != 0 {
		return j.state != paused && !slices.Contains(h.batches, b)
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
		b := h.batch(r)
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

// view fills in a copy for the outside; its time of start goes where the caller has room, if it has.
func (s *Store) view(r *run, out *ruqi.Run, room *time.Time) {
	h := s.historyAt(r)
	what := &h.whats[r.what]
	out.ID, out.Attempt, out.JobID = r.id, int(r.attempt), h.id
	out.JobName, out.Task = what.name, what.task
	out.Cause, out.State, out.Reason = s.causes[r.cause], r.state.word(), s.rows.reason(r)
	out.Nominal, out.Due = timeOf(r.nominal), timeOf(r.due)
	if room != nil && r.started != never {
		*room = timeOf(r.started)
		out.Started = room
	} else {
		out.Started = timePtr(r.started)
	}
	out.Finished = timePtr(r.finished)
	if r.life != 0 {
		out.Owner = s.lifeOf(r).owner
	}
	if r.empty {
		out.Params = json.RawMessage("{}")
	}
	m := s.rows.rest(r)
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
		s.view(r, &out[i], nil)
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
func (s *Store) note(r *run, owner ruqi.Owner, done *ruqi.Run) {
	text := "late word of " + owner.Instance + " (epoch " + strconv.FormatInt(owner.Epoch, 10) + "): " + string(done.State)
	switch reason := s.rows.reason(r); {
	case reason == "":
		s.rows.setReason(r, text)
	case strings.HasSuffix(reason, text):
	default:
		s.rows.setReason(r, reason+"; "+text)
	}
}
