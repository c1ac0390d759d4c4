package trigger

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // zones on hosts that have no zone database
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

// LoadZone returns the zone of an IANA name such as Europe/Berlin or UTC. An empty
// name, "Local" and file paths are refused with an *ruqi.InvalidError at the
// pointer "".
func LoadZone(name string) (*time.Location, error) {
	z, err := loadZone(name)
	if err != nil {
		return nil, err
	}
	return z.loc, nil
}

// zones holds every zone that was asked for, so that a million triggers share
// one table. It is bounded by the number of names in the zone database (about 600).
var zones struct {
	sync.Mutex // guards byName
	byName     map[string]*zone
}

func loadZone(name string) (*zone, error) {
	if name == "UTC" {
		return utc, nil
	}
	if !plausible(name) {
		return nil, ruqi.Invalid("", name, "tz: %q is not an IANA zone name such as Europe/Berlin or UTC%s", clip(name), nearZone(name))
	}
	zones.Lock()
	defer zones.Unlock()
	if z := zones.byName[name]; z != nil {
		return z, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, ruqi.Invalid("", name, "tz: there is no zone %q; names are those of the IANA database, such as Europe/Berlin or UTC%s", clip(name), nearZone(name))
	}
	z := newZone(loc)
	if zones.byName == nil {
		zones.byName = map[string]*zone{}
	}
	zones.byName[name] = z
	return z, nil
}

// nearZone asks whether a zone was meant whose name is near a wrong one.
func nearZone(name string) string {
	if len(name) > longestZone {
		return ""
	}
	if plausible(name) {
		if right := inCase(name); right != "" {
			return right
		}
	}
	if right := ofCity(name); right != "" {
		return fmt.Sprintf("; did you mean %q?", right)
	}
	digits := digitsOf(name)
	return object.DidYouMean(name, slices.DeleteFunc(slices.Clone(zonetable.Names()), func(known string) bool {
		// CST is none of CET and EST, and GMT+8 not GMT+0.
		return len(known) < shortestMeant || digitsOf(known) != digits
	})...)
}

// ofCity returns the only zone of that city, Europe/Berlin for Berlin; empty where there is none or more than one.
func ofCity(name string) string {
	found := ""
	if digitsOf(name) != "" {
		return "" // GMT+8 is as far from UTC as Etc/GMT+8, to the other side
	}
	for _, known := range zonetable.Names() {
		if i := strings.LastIndexByte(known, '/'); i >= 0 && len(name) >= 4 && strings.EqualFold(known[i+1:], name) {
			if found != "" {
				return ""
			}
			found = known
		}
	}
	return found
}

// shortestMeant is the length of the shortest name that is offered: shorter ones are nearer to other abbreviations than to their misspellings.
const shortestMeant = 5

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// inCase asks whether a zone was meant that differs from the name in the case of its letters: europe/berlin, utc.
func inCase(name string) string {
	begins, title := true, []byte(strings.ToLower(name))
	for i, c := range title {
		if begins && c >= 'a' && c <= 'z' {
			title[i] = c - 'a' + 'A'
		}
		begins = c == '/' || c == '_' || c == '-'
	}
	for _, right := range []string{string(title), strings.ToUpper(name)} {
		if _, err := time.LoadLocation(right); err == nil && right != name {
			return object.DidYouMean(name, right)
		}
	}
	return ""
}

// zoneOf returns the shared zone of a location. A location without an IANA name
// cannot be stored, so it is refused.
func zoneOf(loc *time.Location) (*zone, error) {
	if loc == time.UTC {
		return utc, nil
	}
	return loadZone(loc.String())
}

// longestZone bounds a name: the longest in the database has 32 bytes.
const longestZone = 64

// plausible refuses what the loader would take for the host's zone, for a path, or
// for one of the other files beside the zones.
func plausible(name string) bool {
	switch name {
	case "", "localtime", "posixrules", "Factory":
		return false
	}
	if len(name) > longestZone || strings.EqualFold(name, "local") {
		return false
	}
	for _, other := range []string{"posix/", "right/", "/", "-", "+"} {
		if strings.HasPrefix(name, other) {
			return false
		}
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '/' && c != '_' && c != '-' && c != '+' {
			return false
		}
	}
	return true
}

// clip cuts a wrong text for a message.
func clip(text string) string {
	const most = 60 // bytes: beside the explanation it fits in a line
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) { // no part of a character
		end--
	}
	return text[:end] + "…"
}

const (
	daySeconds = 86400
	// earliest and latest bound the instants a trigger answers with, in seconds:
	// a day inside the years 1 to 9999, so that every zone writes a four-digit year.
	earliest = -62135596800 + daySeconds
	latest   = 253402300799 - daySeconds
	// outOfRange is said of the instants before and after them.
	outOfRange = "out of range, times are from 0001-01-02 to 9999-12-30, UTC"
	// eraBits: an era is 2^30 seconds, 34 years, of one zone. Eras are computed
	// when first asked for, in well under a millisecond.
	eraBits = 30
	eras    = (latest-earliest)>>eraBits + 1
	// margin is how far an era looks over its ends, so that a change of the clock
	// near them is whole. The largest jumps are those over the date line, 24 hours.
	margin = 3 * daySeconds
)

// A zone maps instants to offsets, fast. It is safe for concurrent use.
type zone struct {
	loc  *time.Location
	hot  atomic.Pointer[span] // the span last asked for
	eras [eras]atomic.Pointer[[]span]
}

// A span is a stretch of time with one offset, cut at the ends of its era. All
// are seconds.
type span struct {
	from, to int64 // instants, to exclusive
	off      int64 // east of UTC
	// begin is the clock change before the span and before the offset until then;
	// end and after are the next ones. Without a change near the era: begin is
	// from, before is off; end is to, after is off.
	begin, before int64
	end, after    int64
}

var utc = func() *zone {
	z := newZone(time.UTC)
	z.hot.Store(&span{from: earliest - daySeconds, to: latest + 2*daySeconds, begin: earliest - daySeconds, end: latest + 2*daySeconds})
	return z
}()

func newZone(loc *time.Location) *zone { return &zone{loc: loc} }

// at returns the span of an instant and remembers it for the next question, which
// is mostly about the same.
func (z *zone) at(t int64) *span {
	if s := z.hot.Load(); s != nil && s.from <= t && t < s.to {
		return s
	}
	s := z.find(t)
	if z != utc {
		z.hot.Store(s)
	}
	return s
}

// find returns the span of an instant.
func (z *zone) find(t int64) *span {
	if z == utc {
		return z.hot.Load()
	}
	t = min(max(t, earliest), latest)
	slot := &z.eras[(t-earliest)>>eraBits]
	list := slot.Load()
	if list == nil {
		list = z.compute((t - earliest) >> eraBits)
		slot.Store(list)
	}
	spans := *list
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to > t })
	return &spans[min(i, len(spans)-1)]
}

// compute returns the spans of an era.
func (z *zone) compute(era int64) *[]span {
	from := earliest + era<<eraBits
	to := from + 1<<eraBits
	changes := zonetable.Changes(z.loc, from-margin, to+margin)
	if era == 0 {
		from -= margin // the first day begins before it where the clock is ahead of UTC
	}
	var spans []span
	for i, c := range changes {
		s := span{off: c.Offset, begin: c.At, before: c.Offset, end: to + margin, after: c.Offset}
		if i > 0 {
			s.before = changes[i-1].Offset
		}
		if i+1 < len(changes) {
			s.end, s.after = changes[i+1].At, changes[i+1].Offset
		}
		if s.end > from && s.begin < to {
			s.from, s.to = max(s.begin, from), min(s.end, to)
			spans = append(spans, s)
		}
	}
	return &spans
}

// time returns the instant in the zone; a nil zone is UTC.
func (z *zone) time(seconds int64) time.Time { return time.Unix(seconds, 0).In(z.location()) }

func (z *zone) timeMicro(micros int64) time.Time { return time.UnixMicro(micros).In(z.location()) }

func (z *zone) location() *time.Location {
	if z == nil {
		return time.UTC
	}
	return z.loc
}

// instant returns the first instant at which the wall clock shows wall. ok is
// false when it never does; then gap is the span that begins after the gap.
func (z *zone) instant(wall int64) (t int64, gap *span, ok bool) {
	const reach = 36 * 3600 // no zone is, or was, further than 16 hours from UTC
	for s := z.find(wall - reach); ; s = z.find(s.to) {
		if wall < s.begin+s.off && gap == nil {
			gap = s
		}
		if wall >= s.from+s.off && wall < s.to+s.off {
			return wall - s.off, nil, true
		}
		if s.from > wall+reach || s.to > latest {
			if gap == nil {
				gap = s
			}
			return 0, gap, false
		}
	}
}
