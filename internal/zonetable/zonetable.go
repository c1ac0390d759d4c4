// Package zonetable lists when the clock of a zone changes, which the standard library knows and does not list.
package zonetable

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sort"
	"time"
)

// A Change is the first instant of an offset. Both are seconds; the offset is east of UTC.
type Change struct{ At, Offset int64 }

const daySeconds = 86400

// Changes returns the offset at from and every change in (from, to), in order.
func Changes(loc *time.Location, from, to int64) []Change {
	at, off := from, offset(loc, from)
	list := []Change{{at, off}}
	for at < to {
		next := to
		if _, end := time.Unix(at, 0).In(loc).ZoneBounds(); !end.IsZero() {
			next = end.Unix()
		}
		// Past its table the standard library takes a leap year for 365 days, so on
		// 31 December the bound lies behind. A day's step leads out of it.
		if next <= at {
			next = at + daySeconds
		}
		next = min(next, to)
		if now := offset(loc, next); now != off && next < to {
			list = append(list, Change{bisect(loc, at, next, now), now})
			off = now
		}
		at = next
	}
	return list
}

// bisect returns the first instant in (from, to] that has the offset of to.
func bisect(loc *time.Location, from, to, off int64) int64 {
	if offset(loc, to-1) != off {
		return to // as good as always: the bound was right
	}
	return from + 1 + int64(sort.Search(int(to-from-1), func(i int) bool { return offset(loc, from+1+int64(i)) == off }))
}

func offset(loc *time.Location, at int64) int64 {
	_, off := time.Unix(at, 0).In(loc).Zone()
	return int64(off)
}

// first and last bound what a Sum is of. Before 1970 the zone database itself promises nothing, and builds of it differ;
// after 2100 everything is a repetition.
var (
	first = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last  = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// sumDigits are the digits of a Sum: 32 bits are enough to see that two tables differ, and short enough to read out.
const sumDigits = 8

// Sum returns eight hexadecimal digits of a hash of the zone's offsets from 1970 to 2100. Zones whose clocks always
// show the same have the same sum, whatever their names, their abbreviations and the files they came from.
func Sum(loc *time.Location) string {
	h := sha256.New()
	for _, c := range Changes(loc, first, last) {
		var row [16]byte
		binary.BigEndian.PutUint64(row[:8], uint64(c.At))
		binary.BigEndian.PutUint64(row[8:], uint64(c.Offset))
		h.Write(row[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:sumDigits]
}
