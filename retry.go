package ruqi

import (
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Backoff says how the wait before a further attempt grows.
type Backoff string

const (
	// BackoffExponential doubles it each time.
	BackoffExponential Backoff = "exponential"
	// BackoffLinear adds Retry.Delay each time.
	BackoffLinear Backoff = "linear"
	// BackoffFixed leaves it as it is.
	BackoffFixed Backoff = "fixed"
)

// Defaults of a Retry: those of a batch job on Kubernetes begin with 10 s and double, too; an hour is what an operator
// who has mended something would wait at most.
const (
	DefaultRetryDelay    = 10 * time.Second
	DefaultRetryMaxDelay = time.Hour
)

// Retry says how often, and when, a run that failed or timed out is tried again. Each attempt is a run of its own, of cause
// retry, in the order of Run.Attempt. Runs that were cancelled are not tried again; what becomes of lost ones Policy.OnLost says, and
// these attempts count as well. An attempt that waits for its time is cancelled with the job and waits while it is paused.
type Retry struct {
	// Max is how many attempts may follow the first. 1 to 100.
	Max int
	// Delay is the wait before the second attempt, from the end of the first. 0: DefaultRetryDelay.
	Delay time.Duration
	// Backoff says how the wait grows. Empty: BackoffExponential.
	Backoff Backoff
	// MaxDelay bounds it. 0: DefaultRetryMaxDelay, or Delay where that is longer.
	MaxDelay time.Duration
}

// WithDefaults returns the retry with what is open filled in.
func (r Retry) WithDefaults() Retry {
	if r.Delay == 0 {
		r.Delay = DefaultRetryDelay
	}
	if r.Backoff == "" {
		r.Backoff = BackoffExponential
	}
	if r.MaxDelay == 0 {
		r.MaxDelay = max(DefaultRetryMaxDelay, r.Delay)
	}
	return r
}

// after is the wait after so many attempts.
func (r Retry) after(attempts int) time.Duration {
	r = r.WithDefaults()
	wait := r.Delay
	for i := 1; i < attempts && wait < r.MaxDelay && r.Backoff != BackoffFixed; i++ {
		if r.Backoff == BackoffLinear {
			wait += r.Delay
		} else {
			wait *= 2 // at most twice MaxDelay, which is within maxPolicyTime
		}
	}
	return min(wait, r.MaxDelay)
}

func (r Retry) check(faults *Faults, span func(name string, d time.Duration), within func(name string, n, least, most int64)) {
	within("retry/max", int64(r.Max), 1, maxRetries)
	span("retry/delay", r.Delay)
	span("retry/max_delay", r.MaxDelay)
	if full := r.WithDefaults(); full.MaxDelay < full.Delay {
		faults.Add("/policy/retry/max_delay", full.MaxDelay.String(), "shorter than the delay (%s)", full.Delay)
	}
	switch r.Backoff {
	case "", BackoffExponential, BackoffLinear, BackoffFixed:
	default:
		faults.Add("/policy/retry/backoff", string(r.Backoff), "unknown word; accepted are exponential, linear and fixed%s", object.DidYouMean(r.Backoff, BackoffExponential, BackoffLinear, BackoffFixed))
	}
}

// rerunAfter is how long after its loss a run starts again: time for an instance on the same
// machine to end what the lost one has left there.
const rerunAfter = 2 * time.Second

// nextAttempt is the row that follows a run that has ended, by the job's policy; nil when there is none.
func nextAttempt(ended *Run, spec *JobSpec, now time.Time) *Run {
	if spec == nil {
		return nil
	}
	var wait time.Duration
	var why string
	switch retry := spec.Policy.Retry; {
	case ended.State == RunLost && spec.Policy.OnLost == LostRerun:
		wait, why = rerunAfter, fmt.Sprintf("attempt %d was lost", ended.Attempt)
	case (ended.State == RunFailed || ended.State == RunTimedOut) && retry != nil && ended.Attempt <= retry.Max:
		wait = retry.after(ended.Attempt)
		why = cutReason(fmt.Sprintf("attempt %d of %d, %s after the one before: %s", ended.Attempt+1, retry.Max+1, wait, ended.Reason))
	default:
		return nil
	}
	first := ended.ParentID
	if first == 0 {
		first = ended.ID
	}
	return &Run{
		ParentID: first, Attempt: ended.Attempt + 1, JobID: ended.JobID, JobName: ended.JobName, Task: ended.Task, Params: ended.Params,
		Cause: CauseRetry, State: RunQueued, Reason: why, Nominal: ended.Nominal, Due: now.Add(wait),
	}
}

// retryJSON is a Retry in a definition's JSON.
type retryJSON struct {
	Max      int     `json:"max"`
	Delay    string  `json:"delay"`
	Backoff  Backoff `json:"backoff"`
	MaxDelay string  `json:"max_delay"`
}

func encodeRetry(r *Retry) *retryJSON {
	if r == nil {
		return nil
	}
	full := r.WithDefaults()
	return &retryJSON{full.Max, duration.Format(full.Delay), full.Backoff, duration.Format(full.MaxDelay)}
}

func decodeRetry(data []byte, faults *Faults, strict bool) *Retry {
	d := decodeObject("/policy/retry", data, strict, faults)
	if d == nil {
		return nil
	}
	if strict && !d.Has("max") {
		faults.Add("/policy/retry/max", "", "missing; it says how often a run is tried again (1-%d), the rest of retry only when", maxRetries)
	}
	backoff, _ := d.Text("backoff")
	r := &Retry{Max: whole(d.atLeastOne("max")), Delay: d.positive("delay"), Backoff: Backoff(backoff), MaxDelay: d.positive("max_delay")}
	if strict {
		d.Done("max", "delay", "backoff", "max_delay")
	}
	return r
}
