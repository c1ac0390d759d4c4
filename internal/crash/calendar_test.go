//go:build linux

package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
)

const (
	// calendarUsers are the jobs that use one calendar: planning them anew takes ten steps of the store, so that a kill finds some
	// that are not.
	calendarUsers = 2 * ruqi.MaxBatch
	// calendarWait bounds how long after a start all of them are planned by the calendar there is. It takes a second or two, on a
	// machine that does other things ten times as long.
	calendarWait = 30 * time.Second
)

// TestCrashCalendar kills the service between the writing of a calendar and the last of the jobs that are planned anew by it, and in
// the midst of the writing. Whoever starts next finishes the work.
func TestCrashCalendar(t *testing.T) {
	t.Parallel()
	r := random(t)
	s := newSite(t)
	v, c := s.start()
	// Half a year from now, so that nothing fires while the test runs. The calendar takes one of the first two days away.
	month := (time.Now().UTC().Month()+5)%12 + 1
	first := time.Date(time.Now().UTC().Year(), month, 1, 9, 0, 0, 0, time.UTC)
	if first.Before(time.Now()) {
		first = first.AddDate(1, 0, 0)
	}
	second := first.AddDate(1, 0, 0)
	days := [2]json.RawMessage{
		json.RawMessage(fmt.Sprintf(`{"dates":[%q]}`, first.Format(time.DateOnly))), json.RawMessage(fmt.Sprintf(`{"dates":[%q]}`, second.Format(time.DateOnly))),
	}
	next := map[string]time.Time{string(days[0]): second, string(days[1]): first}
	put := func(ctx context.Context, days json.RawMessage) error {
		_, _, err := c.PutCalendar(ctx, "closed", days, ruqi.AnyVersion)
		return err
	}
	if err := put(t.Context(), days[0]); err != nil {
		t.Fatal(err)
	}
	addCalendarUsers(t, c, month)
	if n := s.plannedFor(t, second); n != calendarUsers {
		t.Fatalf("%d jobs are planned by their calendar when they are added", n)
	}
	partial := 0
	for round := range pick(3, 40) {
		to := days[(round+1)%2]
		if round%2 == 0 { // after the answer
			if err := put(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			if round%4 == 2 { // while jobs are planned; else at once
				await(t, "job that is planned anew", calendarWait, func() bool { return s.plannedFor(t, next[string(to)]) > 0 })
			}
			v.Kill()
		} else { // in the midst of it, or before
			ctx, cancel := context.WithTimeout(t.Context(), calendarWait)
			sent := make(chan error, 1)
			go func() { sent <- put(ctx, to) }()
			time.Sleep(time.Duration(r.Int64N(int64(10 * time.Millisecond))))
			v.Kill()
			<-sent // whatever came of it
			cancel()
		}
		before := s.plannedFor(t, next[string(to)])
		v, c = s.start()
		found, err := c.FindCalendar(t.Context(), "closed")
		if err != nil {
			t.Fatal(err)
		}
		want, known := next[string(found.Days)]
		if !known || round%2 == 0 && string(found.Days) != string(to) {
			t.Fatalf("round %d: the calendar is %s, and %s was written", round, found.Days, to)
		}
		begin := time.Now()
		await(t, "plan of all jobs by the calendar", calendarWait, func() bool { return s.plannedFor(t, want) == calendarUsers })
		t.Logf("round %d: %d of %d jobs were planned anew before the kill, all of them %v after the start", round, before, calendarUsers, time.Since(begin))
		if before < calendarUsers && string(found.Days) == string(to) {
			partial++
		}
		checkCalendarUsers(t, c, want)
		if t.Failed() {
			return
		}
	}
	if partial == 0 {
		t.Error("no kill came between the calendar and the last of its jobs: the test says nothing")
	}
	v.Kill()
	s.sound(t)
}

// addCalendarUsers adds jobs that fire on the first of a month unless the calendar has it.
func addCalendarUsers(t *testing.T, c *client.Client, month time.Month) {
	t.Helper()
	var batch []json.RawMessage
	for i := range calendarUsers {
		batch = append(batch, fmt.Appendf(nil, `{"id":"closed-%04d","trigger":{"kind":"except","of":{"kind":"cron","expr":"0 9 1 %d *","zone":"UTC"},"not":[{"calendar":"closed"}]},"task":{"kind":"command","command":"true"}}`, i, month))
		if len(batch) < ruqi.MaxBatch {
			continue
		}
		added, err := c.AddDefinitions(t.Context(), batch, ruqi.Fail)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range added {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		batch = nil
	}
}

// plannedFor counts in the file the jobs whose next time is that.
func (s *site) plannedFor(t *testing.T, at time.Time) (n int) {
	t.Helper()
	db := database(t, s.file())
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM rq_job WHERE next_nominal = ?", at.UnixMicro()).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// checkCalendarUsers asks the service itself.
func checkCalendarUsers(t *testing.T, c *client.Client, want time.Time) {
	t.Helper()
	seen := 0
	for seen < calendarUsers {
		page, err := c.Jobs(t.Context(), ruqi.JobQuery{Offset: seen, Limit: ruqi.MaxPage})
		if err != nil || len(page.Jobs) == 0 {
			t.Fatalf("after %d jobs: %d, %v", seen, len(page.Jobs), err)
		}
		for i := range page.Jobs {
			if job := &page.Jobs[i]; job.Parked != "" || job.NextNominal == nil || !job.NextNominal.Equal(want) {
				t.Errorf("%s: next %v, want %v; parked %q", job.ID, job.NextNominal, want, job.Parked)
				return
			}
		}
		seen += len(page.Jobs)
	}
}
