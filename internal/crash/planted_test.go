package crash_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var (
	plantAnchor = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	plantOwner  = ruqi.Owner{Instance: "one", Epoch: 1}
)

func second(n float64) time.Time {
	return plantAnchor.Add(time.Duration(n * float64(time.Second)))
}

// plantRun is a run of the fire at second n that took half a second.
func plantRun(id int64, n float64) ruqi.Run {
	started, finished := second(n), second(n+0.5)
	return ruqi.Run{ID: id, JobID: "job", Attempt: 1, Cause: ruqi.CauseSchedule, State: ruqi.RunSucceeded,
		Nominal: second(n), Due: second(n), Started: &started, Finished: &finished, Owner: plantOwner}
}

// plant is a sound history of a job that fires each second: a run, one that stands for three, a
// skipped fire, a lost one that was run again, and a run.
func plant() (subject, []ruqi.Run) {
	next := second(8)
	s := subject{id: "job", grid: &grid{anchor: plantAnchor, period: time.Second}, maxInstances: 1, rerun: true,
		record: &ruqi.JobRecord{ID: "job", State: ruqi.JobActive, NextNominal: &next, NextDue: &next, RunCount: 4}}
	folded := plantRun(2, 4)
	from := second(2)
	folded.Coalesced, folded.CoalescedFrom = 2, &from
	skipped := plantRun(3, 5)
	skipped.State, skipped.Reason, skipped.Started, skipped.Owner = ruqi.RunSkipped, "1 active", nil, ruqi.Owner{}
	lost := plantRun(4, 6)
	lost.State, lost.Reason = ruqi.RunLost, "instance one died"
	again := plantRun(5, 6.5)
	again.Nominal, again.Attempt, again.Cause, again.ParentID = lost.Nominal, 2, ruqi.CauseRetry, 4
	return s, []ruqi.Run{plantRun(1, 1), folded, skipped, lost, again, plantRun(6, 7)}
}

// cleaned is a history that begins behind the first fire, with more skipped ones than are kept.
func cleaned(s *subject, rows []ruqi.Run) []ruqi.Run {
	skipped := rows[2]
	rows = nil
	for n := range kept + 1 {
		skipped.ID, skipped.Nominal = int64(n+3), second(float64(n+2))
		rows = append(rows, skipped)
	}
	next := second(kept + 3)
	s.record.NextNominal, s.record.RunCount = &next, 0
	return rows
}

// TestCrashJudgeFindsWhatIsPlanted tries the judge before it is trusted.
func TestCrashJudgeFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct {
		title string
		want  string // part of the one fault; empty: there is none
		spoil func(s *subject, rows []ruqi.Run) []ruqi.Run
	}{
		{"a sound history passes", "", func(_ *subject, rows []ruqi.Run) []ruqi.Run { return rows }},
		{"a hole", "the fire of 12:00:05.000000 has no outcome", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			return append(rows[:2], rows[3:]...)
		}},
		{"a hole at the begin", "the fire of 12:00:01.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.record.RunCount--
			return rows[1:]
		}},
		{"a hole at the end", "the fire of 12:00:07.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.record.RunCount--
			return rows[:5]
		}},
		{"a hole before a removal", "the fire of 12:00:08.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.record, s.gone = nil, second(8.5)
			return rows
		}},
		{"a removal just after the last fire passes", "", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.record, s.gone = nil, second(7.9)
			return rows
		}},
		{"a hole before the end of the trigger", "the fire of 12:00:08.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			end := second(8)
			s.grid.end = &end
			s.record.State, s.record.NextNominal, s.record.NextDue = ruqi.JobFinished, nil, nil
			return rows
		}},
		{"a hole while the job was paused passes", "", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.away = []window{{second(4.9), second(5.1)}}
			return append(rows[:2], rows[3:]...)
		}},
		{"a hole beside the pause", "the fire of 12:00:05.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.away = []window{{second(5), second(5.9)}}
			return append(rows[:2], rows[3:]...)
		}},
		{"a hole where history was cleaned passes", "", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			return cleaned(s, rows)[1:]
		}},
		{"a hole behind that", "the fire of 12:00:12.000000 has no outcome", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			rows = cleaned(s, rows)
			return append(rows[:10], rows[11:]...)
		}},
		{"a double", "which has an outcome already", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			double := rows[2]
			double.ID = 7
			return append(rows, double)
		}},
		{"a double inside a folded row", "which has an outcome already", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			double := rows[2]
			double.ID, double.Nominal = 7, second(3)
			return append(rows, double)
		}},
		{"a double of a job without a known grid", "which has an outcome already", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.grid = nil
			double := rows[2]
			double.ID = 7
			return append(rows, double)
		}},
		{"an overlap", "as the 2. at once", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			late := second(7.2)
			rows[4].Finished = &late
			return rows
		}},
		{"an overlap that is allowed passes", "", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.maxInstances = 2
			late := second(7.2)
			rows[4].Finished = &late
			return rows
		}},
		{"a stuck running row", "is left running", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[5].State, rows[5].Finished = ruqi.RunRunning, nil
			return rows
		}},
		{"a stuck queued row", "is left queued", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[5].State, rows[5].Started, rows[5].Finished, rows[5].Owner = ruqi.RunQueued, nil, nil, ruqi.Owner{}
			return rows
		}},
		{"a row under way of a store that has not settled passes", "", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.open = true
			rows[5].State, rows[5].Finished = ruqi.RunRunning, nil
			return rows
		}},
		{"a folded row that counts too few", "stands for 3 fires from 12:00:02.000000 to 12:00:04.000000 and counts 2", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[1].Coalesced = 1
			return rows
		}},
		{"a folded row that does not say from when", "counts 2 others from <nil>", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.grid, rows[1].CoalescedFrom = nil, nil
			return rows
		}},
		{"a time that the trigger does not give", "which are no times of its job", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.away = []window{{second(0), second(8)}}
			rows[2].Nominal = second(5.25)
			return rows
		}},
		{"a next time that has passed", "and there are outcomes up to", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			next := second(6)
			s.record.NextNominal = &next
			return rows
		}},
		{"a lost run that was not run again", "was lost and not run again", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			return append(rows[:4], rows[5])
		}},
		{"an attempt after nothing", "there is no lost one before it", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[3].State = ruqi.RunSucceeded
			return rows
		}},
		{"no reason", "is skipped without a reason", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[2].Reason = ""
			return rows
		}},
		{"an end before the begin", "and ended at", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			early := second(6.9)
			rows[5].Finished = &early
			return rows
		}},
		{"a skipped fire that an instance owns", "and yet was started", func(_ *subject, rows []ruqi.Run) []ruqi.Run {
			rows[2].Owner = plantOwner
			return rows
		}},
		{"a wrong count of runs", "its run_count is 5", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.record.RunCount = 5
			return rows
		}},
		{"more runs than max_runs", "4 runs, and max_runs is 3", func(s *subject, rows []ruqi.Run) []ruqi.Run {
			s.maxRuns = 3
			return rows
		}},
	} {
		t.Run(c.title, func(t *testing.T) {
			s, rows := plant()
			one(t, c.want, judgeJob(s, c.spoil(&s, rows)))
		})
	}
}

func TestCrashJudgeComparesRowsAndMarks(t *testing.T) {
	for _, c := range []struct {
		title, want string
		spoil       func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark)
	}{
		{"what fits passes", "", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) { return rows, marks }},
		{"a run id twice", "run id 2 is there twice", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			rows[2].ID = 2
			return rows, marks
		}},
		{"a key twice", "are both", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			double := rows[0]
			double.ID = 7
			return append(rows, double), append(marks, mark{7, marks[0].nominal})
		}},
		{"executed twice", "run 1 was executed twice", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			return rows, append(marks, marks[0])
		}},
		{"executed without a row", "run 9 was executed and has no row", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			return rows, append(marks, mark{9, marks[0].nominal})
		}},
		{"executed although skipped", "its row says skipped", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			return rows, append(marks, mark{3, "2026-03-01T12:00:05Z"})
		}},
		{"succeeded without an effect", "run 1 succeeded and did nothing", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			return rows, marks[1:]
		}},
		{"told another time", "was told the time", func(rows []ruqi.Run, marks []mark) ([]ruqi.Run, []mark) {
			marks[0].nominal = "2026-03-01T12:00:09Z"
			return rows, marks
		}},
	} {
		t.Run(c.title, func(t *testing.T) {
			_, rows := plant()
			var marks []mark
			for _, r := range rows {
				if r.Started != nil {
					marks = append(marks, mark{r.ID, r.Nominal.Format(time.RFC3339Nano)})
				}
			}
			rows, marks = c.spoil(rows, marks)
			one(t, c.want, append(judgeAll(rows), judgeMarks("job", marks, rows)...))
		})
	}
}

// one fails unless the wanted fault is the first that was found.
func one(t *testing.T, want string, found []string) {
	t.Helper()
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("found in a history without fault: %q", found)
	case want != "" && (len(found) == 0 || !strings.Contains(found[0], want)):
		t.Errorf("want %q first, found %q", want, found)
	}
}
