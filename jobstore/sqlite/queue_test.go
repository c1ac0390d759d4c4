package sqlite_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
)

const insertQueued = `INSERT INTO rq_run (id, job_id, cause, nominal, attempt, state, due, batch, job_name, task)
	VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?2, 'noop')`

// manyQueued gives a store jobs with so many queued rows each, and nothing else that is due.
func manyQueued(t *testing.T, jobs, rows, maxInstances int, batch int64) (*sqlite.Store, ruqi.Owner) {
	t.Helper()
	s, _ := newStore(t)
	var records []*ruqi.JobRecord
	for i := range jobs {
		r := record(fmt.Sprintf("job-%03d", i), start.Add(time.Hour))
		r.MaxInstances = maxInstances
		records = append(records, r)
	}
	add(t, s, records...)
	err := s.ExecSQL(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		INSERT INTO rq_run (job_id, cause, nominal, attempt, state, due, batch, job_name, task)
		SELECT j.id, 0, i, 1, 0, i, ?2, j.id, 'noop' FROM n CROSS JOIN rq_job j`, int64(rows), batch)
	if err != nil {
		t.Fatal(err)
	}
	return s, beat(t, s, "one")
}

// TestClaimsCostJobsAndNotRows counts the steps of SQLite's machine that a claim takes while many rows wait for each job. They
// grow with the jobs, and with the rows of the one job that has a slot, which are counted for it.
func TestClaimsCostJobsAndNotRows(t *testing.T) {
	const jobs, few, many = 40, 100, 600
	for _, c := range []struct {
		name         string
		maxInstances int
		batch        int64
		change       string // made before the claim
		slots        int
		offered      int // rows
	}{
		{"batches", 1, 7, ``, 1, 1},
		{"batches, no slot", 1, 7, ``, 0, 0},
		{"batches of which one row is running", 1, 7, `UPDATE rq_run SET state = 1 WHERE nominal = 1`, 1, 0},
		{"rows outside of batches", 1, 0, ``, 1, 1},
		{"rows outside of batches, with room for three", 3, 0, ``, 1, 3},
		{"rows outside of batches of jobs at their limit", 2, 0, `UPDATE rq_run SET state = 1 WHERE nominal <= 2`, 1, 0},
		{"batches of paused jobs", 1, 7, `UPDATE rq_job SET state = 1`, 1, 0},
		{"rows outside of batches of paused jobs", 3, 0, `UPDATE rq_job SET state = 1`, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := func(rows int) int64 {
				s, owner := manyQueued(t, jobs, rows, c.maxInstances, c.batch)
				if c.change != "" {
					if err := s.ExecSQL(c.change); err != nil {
						t.Fatal(err)
					}
				}
				request := ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"default": c.slots}, Needs: []string{"func:noop"}}
				offered := 0
				claim := func() {
					offered = 0
					_, err := s.Claim(t.Context(), request, func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
						for _, d := range due {
							offered += len(d.Queued)
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				claim() // definitions are read once
				s.Steps()
				claim()
				if offered != c.offered {
					t.Errorf("of %d rows a job %d were offered, not %d", rows, offered, c.offered)
				}
				return s.Steps()
			}
			with, withMany := steps(few), steps(many)
			t.Logf("%d jobs: %d steps with %d rows each, %d with %d", jobs, with, few, withMany, many)
			// Ten steps count a row of the one job that is offered.
			if most := with + 10*(many-few) + 1000; withMany > most {
				t.Errorf("with %d rows for each of %d jobs a claim takes %d steps, with %d rows %d: more than %d", few, jobs, with, many, withMany, most)
			}
		})
	}
}

// TestClaimsPassOverWhatWaitsForLater counts the steps of a claim while one row is queued for each of many jobs, of which most are due much later.
func TestClaimsPassOverWhatWaitsForLater(t *testing.T) {
	const due = 100
	steps := func(jobs int) int64 {
		s, owner := manyQueued(t, jobs, 1, 1, 0)
		if err := s.ExecSQL(`UPDATE rq_run SET due = ?1 WHERE id > ?2`, start.Add(time.Minute).UnixMicro(), int64(due)); err != nil {
			t.Fatal(err)
		}
		s.Steps()
		claimed, err := s.Claim(t.Context(), ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"default": 0}, Needs: []string{"func:noop"}}, nil)
		if err != nil || claimed.Next == nil || claimed.Next.After(start) {
			t.Fatalf("next is %v, %v", claimed.Next, err)
		}
		return s.Steps()
	}
	few, many := steps(2*due), steps(20*due)
	t.Logf("%d rows are due: %d steps with %d jobs, %d with %d", due, few, 2*due, many, 20*due)
	if many > few+1000 {
		t.Errorf("while %d rows are due a claim takes %d steps with %d jobs, and %d with %d", due, few, 2*due, many, 20*due)
	}
}

// A queuedRow is a row as the test wrote it.
type queuedRow struct {
	id, job, cause, state, batch int64
	due                          time.Time
}

// TestClaimsOfferWhatMayStart compares the rows that a claim offers with a look at all rows, for random jobs, batches, causes, times and ids.
func TestClaimsOfferWhatMayStart(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		s, _ := newStore(t)
		jobs, most := random.IntN(5)+1, []int{20, 1500}[random.IntN(2)] // few rows are read in another way than many
		batches := random.IntN(2) == 0                                  // of which a queued row leaves no room to rows outside
		later := random.IntN(2) * 40                                    // minutes that times may be ahead of now
		var records []*ruqi.JobRecord
		for i := range jobs {
			r := record(fmt.Sprint("job-", i), start.Add(time.Hour))
			r.MaxInstances, r.Priority = random.IntN(5), random.IntN(2)
			r.State = []ruqi.JobState{ruqi.JobActive, ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished}[random.IntN(4)]
			if r.State == ruqi.JobFinished {
				r.NextDue, r.NextNominal = nil, nil
			}
			records = append(records, r)
		}
		add(t, s, records...)
		var rows []queuedRow
		if err := s.ExecSQL("BEGIN"); err != nil { // one commit for all rows
			t.Fatal(err)
		}
		for i, id := range random.Perm(random.IntN(most) + 1) {
			q := queuedRow{id: int64(id + 1), job: int64(random.IntN(jobs)), cause: int64(random.IntN(3)),
				due: start.Add(time.Duration(random.IntN(200)+later-200) * time.Minute)}
			if batches && random.IntN(3) > 0 {
				q.batch = int64(random.IntN(4) - 1)
			}
			if random.IntN(most) < 2 {
				q.state = 1
			}
			if err := s.ExecSQL(insertQueued, q.id, fmt.Sprint("job-", q.job), q.cause, int64(i), q.state, q.due.UnixMicro(), q.batch); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, q)
		}
		if err := s.ExecSQL("COMMIT"); err != nil {
			t.Fatal(err)
		}
		owner := beat(t, s, "one")
		slots := random.IntN(jobs) + 1
		got := map[string][]int64{}
		var order []string
		_, err := s.Claim(t.Context(), ruqi.ClaimRequest{Owner: owner, Slots: map[string]int{"default": slots}, Needs: []string{"func:noop"}},
			func(_ time.Time, due []ruqi.Due) []ruqi.Plan {
				for _, d := range due {
					order = append(order, d.Job.ID)
					for _, r := range d.Queued {
						got[d.Job.ID] = append(got[d.Job.ID], r.ID)
					}
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		expected, urgent := mayStart(records, rows)
		urgent = urgent[:min(slots, len(urgent))]
		if !slices.Equal(order, urgent) {
			t.Fatalf("of %d rows the jobs offered are %v, expected %v", len(rows), order, urgent)
		}
		for _, id := range urgent {
			if !slices.Equal(got[id], expected[id]) {
				t.Fatalf("of %d rows those offered of %s are %v, expected %v", len(rows), id, got[id], expected[id])
			}
		}
	}
}

// mayStart returns the rows that may start of each job, oldest first, and the jobs that have such, the most urgent first.
func mayStart(jobs []*ruqi.JobRecord, all []queuedRow) (rows map[string][]int64, order []string) {
	rows = map[string][]int64{}
	since := map[string]time.Time{}
	slices.SortFunc(all, func(a, b queuedRow) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.id, b.id)) })
	for i, job := range jobs {
		active, busy, lowest := 0, map[int64]bool{}, map[int64]int64{}
		for _, r := range all {
			if r.job != int64(i) {
				continue
			}
			if r.state == 1 || r.batch != 0 {
				active++
			}
			if r.state == 1 {
				busy[r.batch] = true
			} else if low := lowest[r.batch]; low == 0 || r.id < low {
				lowest[r.batch] = r.id
			}
		}
		for _, r := range all {
			const manual = 1
			if r.job != int64(i) || r.state != 0 || r.due.After(start) || job.State == ruqi.JobPaused && r.cause != manual {
				continue
			}
			if r.batch != 0 && (busy[r.batch] || lowest[r.batch] != r.id) {
				continue
			}
			if r.batch == 0 {
				if active >= max(job.MaxInstances, 1) {
					continue
				}
				active++
			}
			if len(rows[job.ID]) == 0 {
				since[job.ID] = r.due
				order = append(order, job.ID)
			}
			rows[job.ID] = append(rows[job.ID], r.id)
		}
	}
	priority := map[string]int{}
	for _, job := range jobs {
		priority[job.ID] = job.Priority
	}
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(priority[b], priority[a]), since[a].Compare(since[b]), strings.Compare(a, b))
	})
	return rows, order
}
