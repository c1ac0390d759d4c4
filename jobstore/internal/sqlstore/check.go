package sqlstore

import (
	"fmt"

	"github.com/ruqi-dev/ruqi"
)

// What a check says of rows that should not be. The stores look for them, each in its own words.
const (
	FaultLedger      = "of the row of rq_ledger, with the schema and the counters of the store, there are %d"
	FaultRunIDs      = "run ids are counted up to %d, but there is a run %d: the ids between would be given twice"
	FaultEpochs      = "epochs are counted up to %d, but there is an instance with epoch %d: the fence of its runs would not hold"
	FaultNoSpec      = "job %q has no definition"
	FaultJobState    = "job %q is in the state %d, which is none"
	FaultRunState    = "run %d is in the state %d, which is none"
	FaultOwner       = "run %d of job %q is running under instance %s, epoch %d, which the store does not know"
	FaultNoStart     = "run %d of job %q is running and has no time of its start"
	FaultNobodysRun  = "run %d is queued, but its job %q is removed: nobody will start it"
	FaultNoEnd       = "run %d has ended and has no time of its end"
	FaultTally       = "the total of executed runs of %s is off: %d of those that succeeded, %d of the others"
	FaultUntallied   = "run %d of job %q is in no total, and never will be"
	FaultNoTotal     = "there is a total of executed runs of %s that counts none"
	FaultNotListed   = "run %d waits to be counted, and is not there"
	FaultNobodysText = "there is output of a run %d that is not there"
)

// toldFaults is how many faults of one kind a check tells: enough to see what they have in common.
const toldFaults = 10

// Faults gathers the faults of one kind. The zero value has none.
type Faults struct {
	told []string
	more int
}

// Add takes one more: a sentence, with the columns of the row for its verbs.
func (f *Faults) Add(fault string, columns ...any) {
	if len(f.told) >= toldFaults {
		f.more++
		return
	}
	f.told = append(f.told, fmt.Sprintf(fault, columns...))
}

// List tells the first, and how many there are more.
func (f *Faults) List() []string {
	if f.more == 0 {
		return f.told
	}
	return append(f.told, fmt.Sprintf("and %d more faults like the last", f.more))
}

// NoStore is ruqi.ErrNotFound for a store that was opened as it is and is not there yet.
type NoStore struct{ Where string }

// Error says what makes one.
func (e *NoStore) Error() string {
	return "there is no store at " + e.Where + " yet: ruqi store migrate makes one"
}

// Unwrap returns ruqi.ErrNotFound.
func (e *NoStore) Unwrap() error { return ruqi.ErrNotFound }
