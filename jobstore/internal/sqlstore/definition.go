package sqlstore

import (
	"slices"
	"sync"

	"github.com/ruqi-dev/ruqi"
)

// maxKnown bounds what is kept of definitions in memory: 64 MiB, or some 100,000
// jobs of the usual size. Beyond it some are forgotten, and read again as they are needed.
const maxKnown = 64 << 20

// Definitions keep the wide part of jobs that were claimed, so that a claim reads
// only what changes with each fire. An entry is good as long as its rev is that of the
// row: every edit raises it, and row numbers are never used again. The zero value is
// empty; it may be used by many goroutines.
type Definitions struct {
	mu    sync.Mutex // guards known, bytes
	known map[int64]Definition
	bytes int
}

// A Definition is a record but for what changes with each fire, at a rev of its row. What it points to is shared: to
// be copied, not handed out.
type Definition struct {
	ruqi.JobRecord
	Seq, Rev int64
}

// Get returns the definition of the job in row seq at rev, if it is known.
func (ds *Definitions) Get(seq, rev int64) (Definition, bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d, ok := ds.known[seq]
	return d, ok && d.Rev == rev
}

// Put keeps a definition.
func (ds *Definitions) Put(d Definition) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.known == nil {
		ds.known = map[int64]Definition{}
	}
	if old, known := ds.known[d.Seq]; known {
		ds.bytes -= old.size()
	}
	ds.known[d.Seq], ds.bytes = d, ds.bytes+d.size()
	for seq, other := range ds.known { // in no order, as good as any here
		if ds.bytes <= maxKnown {
			return
		}
		delete(ds.known, seq)
		ds.bytes -= other.size()
	}
}

// size is how many bytes a definition takes, about.
func (d *Definition) size() int {
	const fixed = 300 // of a record and its place in the map
	return fixed + len(d.Spec) + len(d.ID) + len(d.Name)
}

// Record returns a copy of the record whose slices are its own.
func (d *Definition) Record() ruqi.JobRecord {
	r := d.JobRecord
	r.Spec, r.Tags = slices.Clone(d.Spec), slices.Clone(d.Tags)
	return r
}
