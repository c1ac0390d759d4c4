package calendar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

const (
	kind      = "calendar"  // of the records of calendars
	indexKind = "calendars" // of the one record that names them
	indexKey  = "index"

	maxName      = 64   // characters: with four bytes each, as many as a key may have
	maxCalendars = 1000 // what the index, which is read each second, stays small with
	putTries     = 20   // rounds of read and write while others write calendars too
)

// A Store keeps the calendars of a record store, and has those that are in use in memory. Its methods may be called by many
// goroutines, and by many processes on the same records.
type Store struct {
	records ruqi.RecordStore
	reading chan struct{} // holds one token while known is brought up to date

	mu         sync.RWMutex // guards the rest
	generation int64        // the version of the index that known is of
	known      map[string]entry
}

// An entry is a calendar as it is known.
type entry struct {
	version int64
	days    *daycal.Calendar
	err     error // why it cannot be read
}

var (
	_ ruqi.Calendars         = (*Store)(nil)
	_ trigger.CalendarSource = (*Store)(nil)
)

// New returns a store of the calendars among the records. It knows of none before the first Refresh; starting a
// ruqi.Scheduler that was given it is one.
func New(records ruqi.RecordStore) *Store {
	return &Store{records: records, reading: make(chan struct{}, 1), known: map[string]entry{}}
}

// index is the record that names the calendars.
type index struct {
	version int64 // of the record; 0: there is none yet
	names   map[string]int64
}

// kept is the record of a calendar.
type kept struct {
	Version int64           `json:"version"`
	Days    json.RawMessage `json:"days"`
}

// Refresh implements ruqi.Calendars.
func (s *Store) Refresh(ctx context.Context) (int64, error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return s.Generation(), context.Cause(ctx)
	}
	now, err := s.readIndex(ctx)
	if err != nil {
		return s.Generation(), err
	}
	if now.version == s.Generation() {
		return now.version, nil
	}
	known := map[string]entry{}
	for name, version := range now.names {
		was := s.entry(name)
		if was.version < version {
			if was, err = s.read(ctx, name, version); err != nil {
				return s.Generation(), err
			}
		}
		known[name] = was
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation, s.known = now.version, known
	return now.version, nil
}

// read reads one calendar that the index has at a version. It may have been written again, or removed, since then: the index has
// changed in that case, too, and is read again soon.
func (s *Store) read(ctx context.Context, name string, version int64) (entry, error) {
	k, _, err := s.readKept(ctx, name)
	switch {
	case errors.Is(err, ruqi.ErrNotFound):
		return entry{version: version, err: fmt.Errorf("calendar %q: %w", name, ruqi.ErrNotFound)}, nil
	case errors.Is(err, errUnreadable):
		return entry{version: version, err: err}, nil
	case err != nil:
		return entry{}, err
	}
	days, err := daycal.Parse(k.Days)
	if err != nil { // by a newer release, most likely
		err = fmt.Errorf("calendar %q cannot be read by this release: %w", name, err)
	}
	return entry{max(version, k.Version), days, err}, nil
}

func (s *Store) entry(name string) entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[name]
}

// Generation implements ruqi.Calendars.
func (s *Store) Generation() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.generation
}

// Version implements ruqi.Calendars.
func (s *Store) Version(name string) int64 { return s.entry(name).version }

// Calendar implements trigger.CalendarSource: it answers from memory.
func (s *Store) Calendar(name string) (*daycal.Calendar, int64, error) {
	e := s.entry(name)
	if e.version == 0 {
		return nil, 0, notFound(name)
	}
	return e.days, e.version, e.err
}

func notFound(name string) error { return fmt.Errorf("calendar %q: %w", name, ruqi.ErrNotFound) }

// errUnreadable: a record is not what this package writes.
var errUnreadable = errors.New("cannot be read")

// readIndex reads the index; an empty one where there is none yet.
func (s *Store) readIndex(ctx context.Context) (index, error) {
	now := index{names: map[string]int64{}}
	r, err := s.records.Get(ctx, indexKind, indexKey)
	if errors.Is(err, ruqi.ErrNotFound) {
		return now, nil
	}
	if err != nil {
		return now, err
	}
	now.version = r.Version
	var shape struct {
		Calendars map[string]int64 `json:"calendars"`
	}
	if err := json.Unmarshal(r.Data, &shape); err != nil {
		return now, fmt.Errorf("the index of the calendars %w: %w", errUnreadable, err)
	}
	maps.Copy(now.names, shape.Calendars)
	return now, nil
}

// record returns the index as it is to be written next.
func (i index) record() (ruqi.Record, error) {
	data, err := json.Marshal(map[string]map[string]int64{"calendars": i.names})
	return ruqi.Record{Kind: indexKind, Key: indexKey, Version: i.version, Data: data}, err
}

// readKept reads the record of a calendar, whether the index names it or not.
func (s *Store) readKept(ctx context.Context, name string) (k kept, r ruqi.Record, err error) {
	r, err = s.records.Get(ctx, kind, name)
	if err != nil {
		return k, r, err
	}
	if err = json.Unmarshal(r.Data, &k); err != nil {
		err = fmt.Errorf("calendar %q %w: %w", name, errUnreadable, err)
	}
	return k, r, err
}

// FindCalendar implements ruqi.CalendarOperations.
func (s *Store) FindCalendar(ctx context.Context, name string) (ruqi.Calendar, error) {
	if err := checkName(name); err != nil {
		return ruqi.Calendar{}, err
	}
	now, err := s.readIndex(ctx)
	if err != nil {
		return ruqi.Calendar{}, err
	}
	if now.names[name] == 0 {
		return ruqi.Calendar{}, notFound(name)
	}
	k, r, err := s.readKept(ctx, name)
	if errors.Is(err, ruqi.ErrNotFound) { // removed since
		return ruqi.Calendar{}, notFound(name)
	}
	return ruqi.Calendar{Name: name, Version: k.Version, Days: k.Days, Updated: r.Updated}, err
}

// ListCalendars implements ruqi.CalendarOperations.
func (s *Store) ListCalendars(ctx context.Context, after string, limit int) (ruqi.CalendarPage, error) {
	if limit < 0 {
		return ruqi.CalendarPage{}, ruqi.Invalid("/limit", fmt.Sprint(limit), "negative")
	}
	if limit == 0 {
		limit = ruqi.DefaultPage
	}
	now, err := s.readIndex(ctx)
	if err != nil {
		return ruqi.CalendarPage{}, err
	}
	names := slices.Sorted(maps.Keys(now.names))
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	var page ruqi.CalendarPage
	for _, name := range names[from:] {
		if len(page.Calendars) == min(limit, ruqi.MaxPage) {
			page.Next = page.Calendars[len(page.Calendars)-1].Name
			break
		}
		_, r, err := s.readKept(ctx, name)
		switch {
		case errors.Is(err, ruqi.ErrNotFound): // removed since
			continue
		case err != nil && !errors.Is(err, errUnreadable):
			return ruqi.CalendarPage{}, err
		}
		page.Calendars = append(page.Calendars, ruqi.Calendar{Name: name, Version: now.names[name], Updated: r.Updated})
	}
	return page, nil
}

// PutCalendar implements ruqi.CalendarOperations. days may also be the text of an iCalendar file, or any other that daycal.Parse reads; it
// is kept in its canonical form.
func (s *Store) PutCalendar(ctx context.Context, name string, days json.RawMessage, version int64) (ruqi.Calendar, ruqi.Added, error) {
	var faults ruqi.Faults
	faults.Merge("", checkName(name))
	parsed, err := daycal.Parse(days)
	faults.Merge("/days", err)
	if err := faults.Err(); err != nil {
		return ruqi.Calendar{}, "", err
	}
	canonical, err := parsed.MarshalJSON()
	if err != nil {
		return ruqi.Calendar{}, "", err
	}
	for range putTries {
		added, err := s.put(ctx, name, canonical, version)
		if errors.Is(err, ruqi.ErrConflict) {
			continue // another calendar was written, or this one
		}
		if err != nil {
			return ruqi.Calendar{}, "", err
		}
		calendar, err := s.FindCalendar(ctx, name)
		return calendar, added, err
	}
	return ruqi.Calendar{}, "", fmt.Errorf("write calendar %q: %w", name, ruqi.ErrConflict)
}

// put writes a calendar and the index in one step. ErrConflict says that either has changed since it was read.
func (s *Store) put(ctx context.Context, name string, days []byte, version int64) (ruqi.Added, error) {
	now, err := s.readIndex(ctx)
	if err != nil {
		return "", err
	}
	if err := expect(name, now.names[name], version); err != nil {
		return "", err
	}
	k, r, err := s.readKept(ctx, name)
	switch {
	case errors.Is(err, ruqi.ErrNotFound):
		r = ruqi.Record{Kind: kind, Key: name}
	case err != nil && !errors.Is(err, errUnreadable):
		return "", err
	}
	added := ruqi.Created
	if now.names[name] != 0 {
		if bytes.Equal(k.Days, days) {
			return ruqi.Kept, nil
		}
		added = ruqi.Replaced
	} else if len(now.names) >= maxCalendars {
		return "", ruqi.Invalid("/name", name, "there are %d calendars; that is the most", maxCalendars)
	}
	now.names[name] = now.version + 1
	if r.Data, err = json.Marshal(kept{now.names[name], days}); err != nil {
		return "", err
	}
	all, err := now.record()
	if err != nil {
		return "", err
	}
	return added, s.records.Put(ctx, all, r)
}

// expect compares the version that is there, 0 for none, with the one that a caller asks for.
func expect(name string, there, version int64) error {
	switch {
	case version == ruqi.AnyVersion, there == version:
		return nil
	case version == ruqi.NoVersion && there == 0:
		return nil
	case version == ruqi.NoVersion:
		return fmt.Errorf("calendar %q %w", name, ruqi.ErrExists)
	case there == 0:
		return notFound(name)
	}
	return fmt.Errorf("calendar %q is at version %d: %w", name, there, ruqi.ErrVersion)
}

// RemoveCalendar implements ruqi.CalendarOperations. It does not ask who uses the calendar; a ruqi.Scheduler does.
func (s *Store) RemoveCalendar(ctx context.Context, name string, version int64) error {
	if err := checkName(name); err != nil {
		return err
	}
	for range putTries {
		now, err := s.readIndex(ctx)
		if err != nil {
			return err
		}
		if now.names[name] == 0 {
			return notFound(name)
		}
		if err := expect(name, now.names[name], version); err != nil {
			return err
		}
		_, r, err := s.readKept(ctx, name)
		if err != nil && !errors.Is(err, errUnreadable) && !errors.Is(err, ruqi.ErrNotFound) {
			return err
		}
		delete(now.names, name)
		all, err := now.record()
		if err != nil {
			return err
		}
		switch err := s.records.Put(ctx, all); {
		case errors.Is(err, ruqi.ErrConflict):
			continue
		case err != nil:
			return err
		}
		// What the index does not name is no calendar. Its record goes too, unless it is written anew by now; where this fails it stays,
		// and is in nobody's way.
		_ = s.records.Delete(ctx, kind, name, r.Version)
		return nil
	}
	return fmt.Errorf("remove calendar %q: %w", name, ruqi.ErrConflict)
}

// checkName accepts what can stand in a path as it is, in any script.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	switch {
	case name == "":
		return ruqi.Invalid("/name", "", "empty")
	case !utf8.ValidString(name):
		return ruqi.Invalid("/name", name, "not UTF-8")
	case n > maxName:
		return ruqi.Invalid("/name", name, "%d characters; accepted are at most %d", n, maxName)
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && (i == 0 || r != '.' && r != '_' && r != '-') {
			return ruqi.Invalid("/name", name, "%q stands at byte %d; a name has letters and digits, and after the first \".\", \"_\" and \"-\"", r, i+1)
		}
	}
	return nil
}
