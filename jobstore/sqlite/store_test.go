package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

// start is when the clocks of the tests begin.
var start = time.Date(2026, 12, 1, 8, 0, 0, 123456000, time.UTC)

// A clock stands until it is moved.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// open opens the store at path with a clock, and closes it with the test.
func open(t testing.TB, path string, options sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newStore(t testing.TB) (*sqlite.Store, *clock) {
	t.Helper()
	c := &clock{now: start}
	return open(t, filepath.Join(t.TempDir(), "ruqi.db"), sqlite.Options{Now: c.Now}), c
}

func record(id string, due time.Time) *ruqi.JobRecord {
	return &ruqi.JobRecord{
		ID: id, Name: id, State: ruqi.JobActive, Pool: "default", Needs: "func:noop", MaxInstances: 1,
		NextNominal: &due, NextDue: &due, Version: 1, Spec: []byte(`{"id":"` + id + `"}`),
	}
}

func add(t testing.TB, s *sqlite.Store, records ...*ruqi.JobRecord) {
	t.Helper()
	ids := make([]string, len(records))
	byID := map[string]*ruqi.JobRecord{}
	for i, r := range records {
		ids[i], byID[r.ID] = r.ID, r
	}
	_, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: ids}, func(_ time.Time, id string, _ *ruqi.JobRecord, _ int) ruqi.Change {
		return ruqi.Change{Job: byID[id]}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func beat(t testing.TB, s *sqlite.Store, name string) ruqi.Owner {
	t.Helper()
	i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: name}, Lease: 1000 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return i.Owner
}

func request(owner ruqi.Owner, slots int) ruqi.ClaimRequest {
	return ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"default": slots}, Needs: []string{"func:noop"}}
}

// fire starts one run for each due job and moves the job on by the period.
func fire(period time.Duration) func(time.Time, []ruqi.Due) []ruqi.Plan {
	return func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
		plans := make([]ruqi.Plan, len(due))
		for i, d := range due {
			next := d.Job.NextDue.Add(period)
			plans[i] = ruqi.Plan{JobID: d.Job.ID, State: ruqi.JobActive, NextNominal: &next, NextDue: &next, RunCount: d.Job.RunCount + 1}
			run := ruqi.Run{
				Attempt: 1, JobID: d.Job.ID, JobName: d.Job.Name, Task: "func:noop", Cause: ruqi.CauseSchedule, State: ruqi.RunRunning,
				Nominal: *d.Job.NextNominal, Due: *d.Job.NextDue, Params: []byte("{}"),
			}
			if d.Active >= d.Job.MaxInstances {
				run.State, run.Reason = ruqi.RunSkipped, "at max_instances"
			}
			plans[i].Runs = []ruqi.Run{run}
			for _, q := range d.Queued {
				plans[i].Start = append(plans[i].Start, q.ID)
			}
		}
		return plans
	}
}

func ends(runs []ruqi.Run) []ruqi.Done {
	done := make([]ruqi.Done, len(runs))
	for i, r := range runs {
		r.State = ruqi.RunSucceeded
		done[i] = ruqi.Done{Run: r}
	}
	return done
}

func TestARunGoesFromDueToHistory(t *testing.T) {
	s, c := newStore(t)
	add(t, s, record("a", start), record("b", start.Add(time.Hour)))
	owner := beat(t, s, "one")
	claimed, err := s.Claim(t.Context(), request(owner, 10), fire(2*time.Hour))
	if err != nil || len(claimed.Runs) != 1 || claimed.Runs[0].JobID != "a" {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	if want := start.Add(time.Hour); claimed.Next == nil || !claimed.Next.Equal(want) {
		t.Fatalf("next is %v, not %v", claimed.Next, want)
	}
	c.Move(time.Second)
	if late, err := s.Finish(t.Context(), owner, ends(claimed.Runs)); err != nil || len(late) > 0 {
		t.Fatal(late, err)
	}
	page, err := s.Runs(t.Context(), ruqi.RunQuery{Job: "a"})
	if err != nil || len(page.Runs) != 1 {
		t.Fatal(page, err)
	}
	if r := page.Runs[0]; r.State != ruqi.RunSucceeded || !r.Finished.Equal(start.Add(time.Second)) || !r.Nominal.Equal(start) {
		t.Fatalf("%+v", r)
	}
}

func TestTimesAreExact(t *testing.T) {
	s, _ := newStore(t)
	due := time.Date(2027, 3, 14, 2, 30, 0, 123456000, time.FixedZone("", 3600))
	add(t, s, record("exact", due))
	page, err := s.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatal(page, err)
	}
	if got := page.Jobs[0].NextDue; !got.Equal(due) || got.Location() != time.UTC {
		t.Fatalf("%v came back as %v", due, got)
	}
}

func TestNamesAreKeptByteForByte(t *testing.T) {
	s, _ := newStore(t)
	long := strings.Repeat("x", 254)
	names := []string{"отчёт-日次-🙂", "etl/daily/part 1", `"night" o'clock`, "a\u200fb", long + "1", long + "2", "A", "a", "é", "e\u0301"}
	for _, name := range names {
		add(t, s, record(name, start))
	}
	page, err := s.Jobs(t.Context(), ruqi.JobQuery{})
	if err != nil || page.Total != int64(len(names)) {
		t.Fatalf("%d of %d jobs, %v", page.Total, len(names), err)
	}
	for _, name := range names {
		page, err := s.Jobs(t.Context(), ruqi.JobQuery{IDs: []string{name}})
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != name || page.Jobs[0].Name != name {
			t.Errorf("%q came back as %+v, %v", name, page.Jobs, err)
		}
	}
}

func TestSortIsAWordNotSQL(t *testing.T) {
	s, _ := newStore(t)
	add(t, s, record("a", start))
	for _, sort := range []ruqi.JobSort{"id;DROP TABLE rq_job--", "desc,(select 1)", "ID", "seq"} {
		if _, err := s.Jobs(t.Context(), ruqi.JobQuery{Sort: sort}); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("sort %q: %v", sort, err)
		}
	}
	hostile := `'; DROP TABLE rq_job; --`
	for _, query := range []ruqi.JobQuery{{Search: hostile}, {Name: hostile}, {Pool: hostile}, {Tags: []string{hostile}}, {IDs: []string{hostile}}} {
		if page, err := s.Jobs(t.Context(), query); err != nil || page.Total != 0 {
			t.Errorf("%+v: %v, %v", query, page, err)
		}
	}
	if page, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err != nil || page.Total != 1 {
		t.Fatal("the job is gone", err)
	}
}

// running starts one run of a job that is due.
func running(t testing.TB, s *sqlite.Store, owner ruqi.Owner) ruqi.Run {
	t.Helper()
	claimed, err := s.Claim(t.Context(), request(owner, 1), fire(time.Hour))
	if err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("claimed %+v, %v", claimed.Runs, err)
	}
	return claimed.Runs[0]
}

func TestOutputKeepsEveryByteAndItsEnds(t *testing.T) {
	const limit = 64 << 10
	c := &clock{now: start}
	s := open(t, filepath.Join(t.TempDir(), "ruqi.db"), sqlite.Options{Now: c.Now, OutputCap: limit})
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	run := running(t, s, owner)
	var whole []byte
	write := func(data []byte) {
		t.Helper()
		late, err := s.WriteRuns(t.Context(), owner, []ruqi.RunUpdate{{ID: run.ID, At: int64(len(whole)), Output: append([]byte(nil), data...)}})
		if err != nil || len(late) > 0 {
			t.Fatal(late, err)
		}
		whole = append(whole, data...)
	}
	check := func(cut bool) {
		t.Helper()
		var head, tail []byte
		for from := int64(0); ; {
			part, err := s.Output(t.Context(), run.ID, from, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			if len(part.Bytes) == 0 {
				break
			}
			if part.At > from || len(tail) > 0 {
				tail = append(tail, part.Bytes...)
			} else {
				head = append(head, part.Bytes...)
			}
			from = part.At + int64(len(part.Bytes))
		}
		page, err := s.Runs(t.Context(), ruqi.RunQuery{IDs: []int64{run.ID}})
		if err != nil || page.Runs[0].OutputBytes != int64(len(whole)) || page.Runs[0].OutputCut != cut {
			t.Fatalf("%d bytes written, run is %+v, %v", len(whole), page.Runs[0], err)
		}
		if !cut {
			if string(head) != string(whole) {
				t.Fatalf("%d bytes came back as %d", len(whole), len(head))
			}
			return
		}
		if string(head) != string(whole[:limit/2]) || string(tail) != string(whole[len(whole)-limit/2:]) {
			t.Fatalf("of %d bytes the first %d and the last %d came back", len(whole), len(head), len(tail))
		}
	}
	write([]byte("a\x00b\xff\xfe"))
	check(false)
	for i := range 500 {
		write(fmt.Appendf(nil, "line %d\n", i))
	}
	check(false)
	write([]byte(strings.Repeat("0123456789", 5000)))
	check(false)
	write([]byte(strings.Repeat("y\n", 50_000)))
	check(true)
	for i := range 300 {
		write(fmt.Appendf(nil, "%d%s", i, strings.Repeat("z", i*7)))
	}
	check(true)
	write([]byte(strings.Repeat("abcdefghij", 2_000_000))) // 20 MB
	check(true)
}

func TestALongErrorTextIsKept(t *testing.T) {
	s, _ := newStore(t)
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	run := running(t, s, owner)
	run.State, run.Reason = ruqi.RunFailed, strings.Repeat("very long \x00\xff ", 100_000)
	if late, err := s.Finish(t.Context(), owner, []ruqi.Done{{Run: run}}); err != nil || len(late) > 0 {
		t.Fatal(late, err)
	}
	page, err := s.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunFailed}})
	if err != nil || len(page.Runs) != 1 || page.Runs[0].Reason != run.Reason {
		t.Fatal("the reason did not come back", err)
	}
}

func TestAPanicOfDecideWritesNothing(t *testing.T) {
	s, _ := newStore(t)
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	func() {
		defer func() {
			if p := recover(); p != "planted" {
				t.Errorf("the panic became %v", p)
			}
		}()
		_, _ = s.Claim(t.Context(), request(owner, 1), func(time.Time, []ruqi.Due) []ruqi.Plan { panic("planted") })
	}()
	running(t, s, owner) // the job is still due and the writer free
}

func TestACancelledContextLeavesNoTransaction(t *testing.T) {
	s, _ := newStore(t)
	add(t, s, record("a", start))
	owner := beat(t, s, "one")
	ctx, cancel := context.WithCancel(t.Context())
	claimed, err := s.Claim(ctx, request(owner, 1), func(now time.Time, due []ruqi.Due) []ruqi.Plan {
		cancel()
		return fire(time.Hour)(now, due)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err == nil && len(claimed.Runs) != 1 {
		t.Fatalf("the step happened by half: %+v", claimed)
	}
	if _, err := s.Claim(ctx, request(owner, 1), fire(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Fatalf("an ended context gave %v", err)
	}
	if _, err := s.Append(t.Context(), "k", nil); err != nil {
		t.Fatalf("the writer is stuck: %v", err)
	}
}

func TestTheFileIsForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%41.db")
	s := open(t, path, sqlite.Options{})
	if _, err := s.Append(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o", info.Name(), got)
		}
	}
	if got := s.Location(); got != "sqlite:"+path {
		t.Errorf("described as %s", got)
	}
}

func TestCallsAfterCloseFail(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ruqi.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Jobs(t.Context(), ruqi.JobQuery{}); err == nil {
		t.Error("Jobs works after Close")
	}
	if _, err := s.Append(t.Context(), "k", nil); err == nil {
		t.Error("Append works after Close")
	}
}
