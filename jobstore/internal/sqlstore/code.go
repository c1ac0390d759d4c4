package sqlstore

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// The codes are written in files and databases: a number is never changed or
// given to another word. SQL texts rely on queued = 0 and running = 1.
var (
	runStates = []ruqi.RunState{
		ruqi.RunQueued, ruqi.RunRunning, ruqi.RunSucceeded, ruqi.RunFailed, ruqi.RunTimedOut,
		ruqi.RunCancelled, ruqi.RunLost, ruqi.RunMissed, ruqi.RunSkipped,
	}
	jobStates = []ruqi.JobState{ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished}
	causes    = []ruqi.Cause{
		ruqi.CauseSchedule, ruqi.CauseManual, ruqi.CauseRetry, ruqi.CauseStartup, ruqi.CauseBackfill, ruqi.CauseDependency,
	}
)

// Codes that SQL texts name.
const (
	CodeQueued  = 0 // ruqi.RunQueued
	CodeRunning = 1 // ruqi.RunRunning

)

// RunStateCode returns the number that stands for the state.
func RunStateCode(s ruqi.RunState) (int64, error) { return code(runStates, s, "run state") }

// JobStateCode returns the number that stands for the state.
func JobStateCode(s ruqi.JobState) (int64, error) { return code(jobStates, s, "job state") }

// CauseCode returns the number that stands for the cause.
func CauseCode(c ruqi.Cause) (int64, error) { return code(causes, c, "cause") }

// RunState returns the state that the number stands for.
func RunState(n int64) ruqi.RunState { return word(runStates, n) }

// JobState returns the state that the number stands for.
func JobState(n int64) ruqi.JobState { return word(jobStates, n) }

// Cause returns the cause that the number stands for.
func Cause(n int64) ruqi.Cause { return word(causes, n) }

func code[T ~string](words []T, w T, what string) (int64, error) {
	for i, known := range words {
		if known == w {
			return int64(i), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: %w", what, string(w), ruqi.ErrInvalid)
}

func word[T ~string](words []T, n int64) T {
	if n < 0 || n >= int64(len(words)) {
		return T(fmt.Sprintf("unknown-%d", n))
	}
	return words[n]
}

// Micros returns t as microseconds since 1970 in UTC, the form of every time in a table.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is the inverse of Micros.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
