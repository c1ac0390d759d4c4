package fieldcase_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := trigger.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func cron(t *testing.T, expr string, o trigger.CronOptions) ruqi.Trigger {
	t.Helper()
	tr, err := trigger.Cron(expr, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// nominals returns the fire times of a history, in a zone.
func nominals(rows []ruqi.Run, loc *time.Location) []string {
	var all []string
	for i := range rows {
		all = append(all, rows[i].Nominal.In(loc).Format(time.RFC3339))
	}
	return all
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: got %v, want %v", what, got, want)
			return
		}
	}
}

// CR15: what was missed on a leap day is made good for that day.
func TestALeapDayIsCaughtUp(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		s.set(time.Date(2028, 2, 20, 0, 0, 0, 0, time.UTC))
		n := s.start("n", ruqi.Options{})
		n.add("j", trigger.Crontab("0 0 29 * *"), 0, ruqi.Policy{})
		stop(n)
		s.set(time.Date(2028, 3, 2, 0, 0, 0, 0, time.UTC))
		n = s.start("n", ruqi.Options{})
		time.Sleep(2 * time.Second)
		s.ranOnce(n, "j", 1)
		equal(t, "the late run", nominals(n.rows("j"), time.UTC), "2028-02-29T00:00:00Z")
	})
}

// DZ07: the change of the host's clock holds back no job of another zone.
func TestTheHostsClockChangeIsNoneOfOtherZones(t *testing.T) {
	t.Setenv("TZ", "Europe/London")
	local := time.Local
	time.Local = zone(t, "Europe/London")
	defer func() { time.Local = local }()
	onEachStore(t, func(t *testing.T, s *site) {
		midnight := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
		s.set(midnight)
		n := s.start("n", ruqi.Options{Zone: ruqi.HostZone()})
		n.add("utc", cron(t, "30 1 * * *", trigger.CronOptions{Zone: time.UTC}), 0, ruqi.Policy{})
		n.add("often", cron(t, "* * * * *", trigger.CronOptions{Zone: time.UTC}), 0, ruqi.Policy{})
		n.add("host", trigger.Crontab("30 1 * * *"), 0, ruqi.Policy{})
		for _, from := range []time.Duration{29, 58, 88, 118} { // minutes: before 01:30 twice, and before the hour on both sides
			s.set(midnight.Add(from*time.Minute + 30*time.Second))
			time.Sleep(3 * time.Minute)
		}
		equal(t, "of zone UTC", nominals(n.rows("utc"), time.UTC), "2026-10-25T01:30:00Z")
		equal(t, "of the host's zone", nominals(n.rows("host"), time.UTC), "2026-10-25T00:30:00Z")
		covered(t, n.rows("often"), midnight, s.now(), time.Minute)
		for _, began := range s.starts("utc") {
			if late := began.at.Sub(began.run.Nominal); late < 0 || late > time.Second {
				t.Errorf("it started %s late", late)
			}
		}
	})
}

// DZ09: over a change of the clock a job inside the gap runs once, and others go on without a pause.
func TestOverAGapAllJobsGoOn(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		ny := zone(t, "America/New_York")
		s.set(time.Date(2027, 3, 14, 1, 55, 0, 0, ny))
		n := s.start("n", ruqi.Options{Zone: ny})
		n.add("gap", trigger.Crontab("30 2 * * *"), 10*time.Second, ruqi.Policy{})
		n.add("often", cron(t, "*/7 * * * * *", trigger.CronOptions{Dialect: "ruqi"}), time.Second, ruqi.Policy{})
		time.Sleep(10*time.Minute + 2*time.Second)
		equal(t, "in the gap", nominals(n.rows("gap"), ny), "2027-03-14T03:00:00-04:00")
		rows := n.rows("often")
		s.ranOnce(n, "often", 10*9) // nine in each minute: 0, 7, … 56
		for i := 1; i < len(rows); i++ {
			if step := rows[i].Nominal.Sub(rows[i-1].Nominal); step != 7*time.Second && step != 4*time.Second {
				t.Errorf("%s comes %s after the one before", rows[i].Nominal, step)
			}
		}
		s.set(time.Date(2027, 3, 15, 2, 29, 55, 0, ny))
		time.Sleep(20 * time.Second)
		equal(t, "a day later", nominals(n.rows("gap"), ny), "2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00")
	})
}

// IV05: an interval of seven days is elapsed time; the preview and the runs agree.
func TestAnIntervalOfDaysIsElapsedTime(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		brussels := zone(t, "Europe/Brussels")
		tuesday := time.Date(2019, 3, 26, 16, 0, 0, 0, brussels)
		s.set(tuesday)
		tr, err := trigger.Interval(7*24*time.Hour, trigger.IntervalOptions{Start: &tuesday, Zone: brussels})
		if err != nil {
			t.Fatal(err)
		}
		n := s.start("n", ruqi.Options{})
		job := n.add("j", tr, 0, ruqi.Policy{})
		var preview []string
		for at := tuesday; len(preview) < 2; {
			at, _ = job.Trigger.Next(at)
			preview = append(preview, at.In(brussels).Format(time.RFC3339))
		}
		equal(t, "the preview", preview, "2019-04-02T17:00:00+02:00", "2019-04-09T17:00:00+02:00")
		for range 2 {
			job, err := n.Job(t.Context(), "j")
			if err != nil {
				t.Fatal(err)
			}
			s.set(job.NextNominal.Add(-5 * time.Second))
			time.Sleep(10 * time.Second)
		}
		rows := n.rows("j")
		equal(t, "the runs", nominals(rows[len(rows)-2:], brussels), preview...)
	})
}

// JT03: jitter above the period is cut to it, and each slot has its run.
func TestJitterAboveThePeriodKeepsEachSlot(t *testing.T) {
	inMemory(t, func(t *testing.T, s *site) {
		n := s.start("n", ruqi.Options{})
		job := n.add("j", trigger.EveryDuration(2*time.Minute), 0, ruqi.Policy{Jitter: 5 * time.Minute})
		anchor := job.NextNominal.Add(-2 * time.Minute)
		time.Sleep(time.Hour + 2*time.Minute)
		rows := n.rows("j")
		for i := range rows[:30] {
			want := anchor.Add(time.Duration(i+1) * 2 * time.Minute)
			late := rows[i].Started.Sub(want)
			if !rows[i].Nominal.Equal(want) || rows[i].State != ruqi.RunSucceeded || late < 0 || late > 2*time.Minute {
				t.Errorf("slot %d has the run of %s, %s, started %s late", i, rows[i].Nominal, rows[i].State, late)
			}
		}
	})
}

// CK07: a process that gets no time for a day makes one late run for the slot it missed, and none twice.
func TestADayWithoutTimeIsOneLateRun(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *site) {
		s.set(time.Date(2027, 6, 13, 18, 0, 0, 0, time.UTC))
		n := s.start("n", ruqi.Options{})
		n.add("j", trigger.Crontab("30 18 * * *"), 0, ruqi.Policy{})
		time.Sleep(time.Minute)
		s.set(time.Date(2027, 6, 14, 18, 29, 0, 0, time.UTC))
		time.Sleep(2 * time.Minute)
		equal(t, "two days", nominals(n.rows("j"), time.UTC), "2027-06-13T18:30:00Z", "2027-06-14T18:30:00Z")
		s.ranOnce(n, "j", 2)
	})
}
