package trigger_test

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain makes the tests use the zone data that comes with Go, whose copy is embedded in every program, and not those of the
// machine: the answers are the same everywhere.
func TestMain(m *testing.M) {
	if _, given := os.LookupEnv("ZONEINFO"); !given {
		path, err := zoneArchive()
		if err == nil {
			err = os.Setenv("ZONEINFO", path)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "no zone data of Go:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// zoneArchive is the file from which time/tzdata is made.
func zoneArchive() (string, error) {
	root := os.Getenv("GOROOT")
	if root == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return "", fmt.Errorf("go env GOROOT: %w", err)
		}
		root = strings.TrimSpace(string(out))
	}
	path := filepath.Join(root, "lib", "time", "zoneinfo.zip")
	_, err := os.Stat(path)
	return path, err
}

// An embeddedZone is a zone of the archive.
type embeddedZone struct {
	name string
	loc  *time.Location // read from the archive without the loader that triggers use
	// alias: another zone before it has the same data.
	alias bool
}

// embeddedZones are all of them, in the order of the archive.
var embeddedZones = sync.OnceValues(func() ([]embeddedZone, error) {
	path, err := zoneArchive()
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var list []embeddedZone
	seen := map[string]bool{}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") || f.Name == "Factory" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		loc, err := time.LoadLocationFromTZData(f.Name, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		list = append(list, embeddedZone{f.Name, loc, seen[string(data)]})
		seen[string(data)] = true
	}
	return list, nil
})

// offset is how far the zone's clock is ahead of UTC, in seconds.
func (z embeddedZone) offset(at int64) int64 {
	_, off := time.Unix(at, 0).In(z.loc).Zone()
	return int64(off)
}

// changes are the first instants of each new offset in [from, until), found by a look at the clock at every hour. ZoneBounds is
// not asked: on 31 December of leap years past the zone's table it is wrong.
func (z embeddedZone) changes(from, until int64) (list []int64) {
	const hour = 3600
	off := z.offset(from)
	for at := from + hour; at < until; at += hour {
		now := z.offset(at)
		if now == off {
			continue
		}
		low, high := at-hour, at // the offset of low is the old one, that of high is not
		for high-low > 1 {
			if mid := (low + high) / 2; z.offset(mid) == off {
				low = mid
			} else {
				high = mid
			}
		}
		list = append(list, high)
		off = now
	}
	return list
}

// A face is what a clock shows.
type face struct {
	year                 int16
	month, day, weekday  int8 // weekday 0 is Sunday
	isoWeek, monthDays   int8 // the days of the month
	hour, minute, second int8
}

// A wallClock is a record of what a zone's clock showed at every step of a stretch of time.
type wallClock struct {
	loc   *time.Location
	from  int64 // the first instant
	step  int64 // seconds
	walls []int64
	faces []face
	// earlier and later: the same wall time was shown before, or will be shown again.
	earlier, later []bool
	jumps          []jump
	matched        map[*wallModel]matches
}

// A jump is a change of the clock forward: [before, after) was not shown.
type jump struct{ at, before, after int64 }

// watch records the clock in [from, until], looking at it once in so many seconds: offsets and changes must lie on whole
// looks.
func (z embeddedZone) watch(from, until, step, look int64) *wallClock {
	n := int((until-from)/step) + 1
	c := &wallClock{
		loc: z.loc, from: from, step: step, walls: make([]int64, n), faces: make([]face, n),
		earlier: make([]bool, n), later: make([]bool, n), matched: map[*wallModel]matches{},
	}
	lowest, highest := int64(1<<62), int64(-1<<62)
	var off int64
	for i := range c.walls {
		at := from + int64(i)*step
		if (at-from)%look == 0 {
			off = z.offset(at)
		}
		wall := at + off
		c.walls[i] = wall
		lowest, highest = min(lowest, wall), max(highest, wall)
		if i > 0 && wall > c.walls[i-1]+step {
			c.jumps = append(c.jumps, jump{at, c.walls[i-1] + step, wall})
		}
	}
	seen := make([]bool, (highest-lowest)/step+1)
	for i, wall := range c.walls {
		slot := (wall - lowest) / step
		c.earlier[i] = seen[slot]
		seen[slot] = true
	}
	clear(seen)
	for i := n - 1; i >= 0; i-- {
		slot := (c.walls[i] - lowest) / step
		c.later[i] = seen[slot]
		seen[slot] = true
	}
	var read faceReader
	for i, wall := range c.walls {
		c.faces[i] = read.face(wall)
	}
	return c
}

// A faceReader keeps the date, which seldom changes from one wall time to the next.
type faceReader struct {
	day  int64
	date face
}

func (r *faceReader) face(wall int64) face {
	second := wall % 86400
	if second < 0 {
		second += 86400
	}
	if day := wall - second; day != r.day || r.date.day == 0 {
		at := time.Unix(day, 0).UTC()
		_, week := at.ISOWeek()
		r.day = day
		r.date = face{
			year: int16(at.Year()), month: int8(at.Month()), day: int8(at.Day()), weekday: int8(at.Weekday()), isoWeek: int8(week),
			monthDays: int8(time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()),
		}
	}
	f := r.date
	f.hour, f.minute, f.second = int8(second/3600), int8(second/60%60), int8(second%60)
	return f
}
