package memory

import (
	"math/bits"
	"testing"
	"unsafe"
)

// The comments of run, chunkRows and page say so, and what a history costs is reckoned from it.
func TestRowsAreAsSmallAsIsSaid(t *testing.T) {
	for what, c := range map[string]struct{ is, want uintptr }{
		"a run": {unsafe.Sizeof(run{}), 64}, "a chunk": {unsafe.Sizeof([chunkRows]run{}), 4 << 10},
		"a page": {unsafe.Sizeof(page{}), 304}, "the extras of a chunk": {unsafe.Sizeof(extras{}), 1536},
	} {
		if c.is != c.want && bits.UintSize == 64 {
			t.Errorf("%s is %d bytes, want %d", what, c.is, c.want)
		}
	}
}
