package sqlstore

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Queued is what must be known of a queued run to say whether it may start.
type Queued struct {
	ID    int64
	Due   time.Time
	Cause ruqi.Cause
	Batch int64
}

// A Standing is what must be known of a job to say which of its queued runs may start.
type Standing struct {
	State        ruqi.JobState
	MaxInstances int
	// Active counts running runs and queued rows of batches.
	Active int
	// Busy are the batches of which a run is running.
	Busy map[int64]bool
	// First is the oldest queued row of each batch.
	First map[int64]int64
}

// Startable returns the rows of one job that may start at now, of those given,
// oldest first: of each batch one, of the others as many as there is room for. The
// rules are those of ruqi.JobStore.Claim. A job always has room for one.
func Startable(now time.Time, job Standing, queued []Queued) []Queued {
	var may []Queued
	room := max(job.MaxInstances, 1) - job.Active
	for _, q := range queued {
		if q.Due.After(now) {
			continue
		}
		if q.Cause != ruqi.CauseManual && job.State == ruqi.JobPaused {
			continue
		}
		if q.Batch != 0 {
			if job.Busy[q.Batch] || job.First[q.Batch] != q.ID {
				continue
			}
		} else {
			if room <= 0 {
				continue
			}
			room--
		}
		may = append(may, q)
	}
	return may
}
