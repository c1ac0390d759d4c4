package fieldcase_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/trigger"
)

// MH01: a job that runs each second keeps its history at the bound, not only once a day.
func TestTheHistoryOfABusyJobStaysAtItsBound(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		const keep, between = 300, 31 // a look each half minute
		n := s.start("n", ruqi.Options{KeepRuns: keep})
		n.add("wild", trigger.EveryDuration(time.Second), 0, ruqi.Policy{})
		most := 0
		for range 16 {
			time.Sleep(29 * time.Second)
			most = max(most, len(n.rows("wild")))
		}
		if most < keep || most > keep+between {
			t.Errorf("of 464 runs at most %d were there at once, the bound is %d", most, keep)
		}
	})
}

// sqlHistory writes the ended runs of ten jobs, one a minute, the latest a minute before the time given.
const sqlHistory = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
	INSERT INTO rq_run (id, job_id, cause, nominal, attempt, state, due, started, finished, instance, epoch, job_name, task)
	SELECT i, 'old-' || i % 10, 0, t, 1, 2, t, t, t, 'old', 1, 'old', 'work' FROM (SELECT i, ?2 - (?1 + 1 - i) * 60000000 t FROM n)`

// MH03: a long history goes in short steps by itself, one after the other.
func TestALongHistoryGoesInShortSteps(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *site) {
		const old = 20_000 // minutes, two weeks
		db := s.database()
		n := s.node("n", ruqi.Options{KeepAge: time.Hour})
		change(t, db, sqlHistory, old, s.now().UnixMicro())
		change(t, db, "UPDATE rq_ledger SET run = ?", old)
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stop(n)
		n.add("j", trigger.EveryDuration(100*time.Millisecond), 0, ruqi.Policy{})
		time.Sleep(32*time.Second + 50*time.Millisecond)
		var left int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM rq_run WHERE job_id <> 'j'").Scan(&left); err != nil || left > 60 {
			t.Errorf("two seconds after the first look %d of %d old rows are left, %v", left, old, err)
		}
		s.ranOnce(n, "j", 320)
	})
}

// MH03, OU07 in real time: neither the purge of a long history nor 200 MB of output makes a job of each 20 ms late.
func TestJobsAreInTimeBesidePurgesAndOutput(t *testing.T) {
	// Ten times the promise of a second, for a machine that does other things.
	const period, most, old = 20 * time.Millisecond, 10 * time.Second, 30_000
	s := &site{t: t, path: filepath.Join(t.TempDir(), "ruqi.db")}
	store := openSQLite(t, s.path, time.Now)
	db := s.database()
	change(t, db, sqlHistory, old, time.Now().UnixMicro())
	change(t, db, "UPDATE rq_ledger SET run = ?", old)
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	command.Register(registry, command.Options{})
	ruqi.Func(registry, "work", func(context.Context, work) error { return nil })
	scheduler, err := ruqi.New(store, registry, ruqi.Options{Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Lease: time.Minute,
		KeepRuns: 1_000_000, KeepNonRuns: 1_000_000}) // on a slow machine the test outlasts the first cleaning, which would make gaps
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Scheduler: scheduler, t: t}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(n)
	job := n.add("often", trigger.EveryDuration(period), 0, ruqi.Policy{Coalesce: ptr(false), CatchupLimit: 1000})
	loud, _, err := n.AddJob(t.Context(), ruqi.JobSpec{ID: "loud", Trigger: trigger.EveryDuration(time.Hour), Task: command.Shell("yes | head -c 200000000")}, ruqi.Fail)
	if err != nil {
		t.Fatal(err)
	}
	run, err := n.RunNow(t.Context(), loud.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for gone, limit := 0, 1000; ; { // as a scheduler does it, which first waits half a minute
		n, err := store.Clean(t.Context(), ruqi.Retention{Age: time.Hour, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if gone += n; n < limit {
			if gone < old-60 {
				t.Errorf("%d of %d rows went", gone, old)
			}
			break
		}
	}
	if run, err = n.WaitRun(t.Context(), run.ID); err != nil || run.State != ruqi.RunSucceeded || run.OutputBytes != 200_000_000 || !run.OutputCut {
		t.Errorf("the loud run is %+v, %v", run, err)
	}
	if _, err := n.PauseJob(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
	rows, worst := n.rows("often"), time.Duration(0)
	covered(t, rows, job.NextNominal.Add(-period), time.Time{}, period)
	for i := range rows {
		if rows[i].Started != nil {
			worst = max(worst, rows[i].Started.Sub(rows[i].Due))
		}
	}
	t.Logf("%d fires in time, the latest by %s", len(rows), worst)
	if worst > most || len(rows) < 3 {
		t.Errorf("of %d fires the latest started %s late", len(rows), worst)
	}
}

// PG01, PG03: of thousands of jobs and of many runs at once, each is reached by paging, and no page takes long.
func TestLongListsComeInShortPages(t *testing.T) {
	const jobs, runs = 5000, 40
	store := openSQLite(t, filepath.Join(t.TempDir(), "ruqi.db"), time.Now)
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	held := make(chan struct{})
	ruqi.Func(registry, "work", func(context.Context, work) error { <-held; return nil })
	scheduler, err := ruqi.New(store, registry, ruqi.Options{Zone: time.UTC, Logger: slog.New(slog.DiscardHandler), Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Scheduler: scheduler, t: t}
	for i := range jobs {
		n.add(fmt.Sprintf("j%04d", i), trigger.EveryDuration(24*time.Hour), 0, ruqi.Policy{})
	}
	seen, worst := map[string]bool{}, time.Duration(0)
	for query := (ruqi.JobQuery{}); ; {
		begin := time.Now()
		page, err := n.Jobs(t.Context(), query)
		worst = max(worst, time.Since(begin))
		if err != nil || page.Total != jobs || len(page.Jobs) > ruqi.DefaultPage {
			t.Fatalf("a page has %d of %d jobs, %v", len(page.Jobs), page.Total, err)
		}
		for i := range page.Jobs {
			seen[page.Jobs[i].ID] = true
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	t.Logf("the slowest page took %s", worst)
	if len(seen) != jobs || worst > 300*time.Millisecond {
		t.Errorf("%d of %d jobs were listed, the slowest page took %s", len(seen), jobs, worst)
	}
	for i := range runs {
		if _, err := n.RunNow(t.Context(), fmt.Sprintf("j%04d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	started := make(chan struct{}, runs)
	n.Listen(func(ruqi.Event) { started <- struct{}{} }, ruqi.EventRunStarted)
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(n)
	defer close(held)
	for range runs {
		<-started
	}
	running := map[int64]bool{}
	for query := (ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunRunning}, Limit: 7}); ; {
		page, err := n.Runs(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Runs {
			running[page.Runs[i].ID] = true
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	if len(running) != runs {
		t.Errorf("%d of %d runs are listed as running", len(running), runs)
	}
}

// MH05: nothing is kept in memory of a run that has ended.
func TestAHundredThousandRunsLeaveNothing(t *testing.T) {
	const jobs, each = 100, 1000
	inMemory(t, func(t *testing.T, s *site) {
		var ran atomic.Int64
		registry := ruqi.NewRegistry()
		trigger.Register(registry)
		gofunc.Register(registry)
		ruqi.Func(registry, "work", func(ctx context.Context, _ work) error {
			ran.Add(1)
			_, err := io.WriteString(ruqi.Output(ctx), strings.Repeat("said ", 20))
			return err
		})
		scheduler, err := ruqi.New(s.open(), registry, ruqi.Options{
			Zone: time.UTC, Logger: slog.New(slog.NewTextHandler(&s.logged, nil)), KeepRuns: 5,
		})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{Scheduler: scheduler, t: t}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stop(n)
		for i := range jobs {
			n.add(fmt.Sprint("j", i), trigger.EveryDuration(time.Second), 0, ruqi.Policy{})
		}
		rest := func() (routines int, heap uint64) {
			n.Pause()
			time.Sleep(time.Minute) // and all history past its bound is gone
			synctest.Wait()
			runtime.GC()
			runtime.GC() // what finalizers freed in the first one
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			n.Resume()
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		time.Sleep(time.Minute)
		routines, heap := rest()
		time.Sleep(each * time.Second)
		laterRoutines, laterHeap := rest()
		t.Logf("%d runs; goroutines %d, then %d; heap %d KiB, then %d KiB", ran.Load(), routines, laterRoutines, heap>>10, laterHeap>>10)
		if n := ran.Load(); n < jobs*each {
			t.Errorf("only %d runs", n)
		}
		if laterRoutines > routines || laterHeap > heap+512<<10 {
			t.Error("something is left")
		}
	})
}
