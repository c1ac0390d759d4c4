package ruqi_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ruqi-dev/ruqi"
)

// An offset that no list has would overflow where a page's size is added to it.
func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		offset int
		cursor string
		faults int
	}{
		{0, "", 0}, {0, "c", 0}, {1, "", 0}, {ruqi.MaxOffset, "", 0},
		{-1, "", 1}, {-1, "c", 1}, {1, "c", 1}, {ruqi.MaxOffset + 1, "", 1}, {math.MaxInt, "", 1}, {math.MaxInt, "c", 2},
	} {
		err := ruqi.CheckOffset(c.offset, c.cursor)
		var invalid *ruqi.InvalidError
		if n := c.faults; errors.As(err, &invalid) != (n > 0) || n > 0 && (len(invalid.Faults) != n || invalid.Faults[0].Pointer != "/offset") {
			t.Errorf("offset %d, cursor %q: %v, want %d faults", c.offset, c.cursor, err, n)
		}
	}
}
