package calendar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
)

// onEachStore runs a test on each kind of store. open opens a handle on the same place again, as another process would.
func onEachStore(t *testing.T, test func(t *testing.T, open func() store)) {
	t.Helper()
	closing := func(t *testing.T, s store, err error) store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	t.Run("memory", func(t *testing.T) {
		s := memory.Open(memory.Options{})
		test(t, func() store { return s })
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ruqi.db")
		test(t, func() store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			return closing(t, s, err)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		address := postgrestest.Shared(t).Schema(t)
		test(t, func() store {
			s, err := postgres.Open(t.Context(), address, postgres.Options{})
			return closing(t, s, err)
		})
	})
}

func days(dates ...string) json.RawMessage {
	text, err := json.Marshal(map[string][]string{"dates": dates})
	if err != nil {
		panic(err)
	}
	return text
}

func TestACalendarIsWrittenReadAndRemoved(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		ctx := t.Context()
		one, two := calendar.New(open()), calendar.New(open())
		if page, err := one.ListCalendars(ctx, "", 0); err != nil || len(page.Calendars) != 0 {
			t.Errorf("an empty store lists %+v, %v", page, err)
		}
		if _, err := one.FindCalendar(ctx, "a"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("none is found: %v", err)
		}
		first, added, err := one.PutCalendar(ctx, "a", days("2026-12-25", "2026-12-26"), ruqi.NoVersion)
		if err != nil || added != ruqi.Created || string(first.Days) != `{"dates":["2026-12-25/2026-12-26"]}` || first.Updated.IsZero() {
			t.Errorf("%+v, %s, %v", first, added, err)
		}
		if _, _, err := two.PutCalendar(ctx, "a", days("2026-12-24"), ruqi.NoVersion); !errors.Is(err, ruqi.ErrExists) {
			t.Errorf("it is there already: %v", err)
		}
		second, added, err := two.PutCalendar(ctx, "a", days("2026-12-24"), first.Version)
		if err != nil || added != ruqi.Replaced || second.Version <= first.Version {
			t.Errorf("%+v, %s, %v", second, added, err)
		}
		if _, _, err := one.PutCalendar(ctx, "a", days(), first.Version); !errors.Is(err, ruqi.ErrVersion) {
			t.Errorf("it is at another version: %v", err)
		}
		if _, _, err := one.PutCalendar(ctx, "b", days(), second.Version); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("it is not there, and a version is asked for: %v", err)
		}
		if err := one.RemoveCalendar(ctx, "a", first.Version); !errors.Is(err, ruqi.ErrVersion) {
			t.Errorf("another version is removed: %v", err)
		}
		if got, err := one.FindCalendar(ctx, "a"); err != nil || got.Version != second.Version || string(got.Days) != `{"dates":["2026-12-24"]}` {
			t.Errorf("it is %+v, %v", got, err)
		}
		if err := one.RemoveCalendar(ctx, "a", second.Version); err != nil {
			t.Error(err)
		}
		if _, err := two.FindCalendar(ctx, "a"); !errors.Is(err, ruqi.ErrNotFound) {
			t.Errorf("after it was removed: %v", err)
		}
		third, added, err := two.PutCalendar(ctx, "a", days("2026-12-24"), ruqi.AnyVersion)
		if err != nil || added != ruqi.Created || third.Version <= second.Version {
			t.Errorf("a new one of that name is %+v, %s, %v: no version is used twice", third, added, err)
		}
		for n := range 5 {
			if _, _, err := one.PutCalendar(ctx, fmt.Sprintf("n%d", n), days(), ruqi.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		after := ""
		for {
			page, err := two.ListCalendars(ctx, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Calendars {
				names = append(names, c.Name)
				if c.Days != nil || c.Version == 0 || c.Updated.IsZero() {
					t.Errorf("a list has %+v", c)
				}
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "a n0 n1 n2 n3 n4" {
			t.Errorf("the pages have %s", got)
		}
	})
}

// What is known changes with Refresh alone, and is never half of a change.
func TestWhatIsKnownOfCalendars(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		ctx := t.Context()
		one, two := calendar.New(open()), calendar.New(open())
		a, _, err := one.PutCalendar(ctx, "a", days("2026-12-25"), ruqi.AnyVersion)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := two.Calendar("a"); !errors.Is(err, ruqi.ErrNotFound) || two.Version("a") != 0 || two.Generation() != 0 {
			t.Errorf("before it is read: %v", err)
		}
		for range 2 {
			generation, err := two.Refresh(ctx)
			if err != nil || generation != two.Generation() || generation != a.Version {
				t.Errorf("generation %d, %v; want that of the only calendar, %d", generation, err, a.Version)
			}
		}
		christmas, other := daycal.NewDay(2026, time.December, 25), daycal.NewDay(2026, time.December, 26)
		got, version, err := two.Calendar("a")
		if err != nil || version != a.Version || two.Version("a") != version || !got.Contains(christmas) || got.Contains(other) {
			t.Errorf("version %d, %v", version, err)
		}
		if _, _, err := one.PutCalendar(ctx, "b", days(), ruqi.AnyVersion); err != nil {
			t.Fatal(err)
		}
		if generation, err := two.Refresh(ctx); err != nil || generation <= a.Version || two.Version("a") != a.Version || two.Version("b") != generation {
			t.Errorf("generation %d with a at %d and b at %d, %v", generation, two.Version("a"), two.Version("b"), err)
		}
		if err := one.RemoveCalendar(ctx, "a", ruqi.AnyVersion); err != nil {
			t.Fatal(err)
		}
		before := two.Generation()
		if generation, err := two.Refresh(ctx); err != nil || generation <= before || two.Version("a") != 0 {
			t.Errorf("after it was removed: generation %d, version %d, %v", generation, two.Version("a"), err)
		}
	})
}

func TestCalendarsAreWrittenByMany(t *testing.T) {
	onEachStore(t, func(t *testing.T, open func() store) {
		const writers, each = 4, 5
		var group sync.WaitGroup
		var mu sync.Mutex
		versions := map[int64]string{}
		for w := range writers {
			s := calendar.New(open())
			group.Go(func() {
				for n := range each {
					name := fmt.Sprintf("c%d", n)
					c, _, err := s.PutCalendar(t.Context(), name, days(fmt.Sprintf("2026-01-%02d", w*each+n+1)), ruqi.AnyVersion)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					versions[c.Version] = name
					mu.Unlock()
				}
			})
		}
		group.Wait()
		s := calendar.New(open())
		generation, err := s.Refresh(t.Context())
		if err != nil || generation != writers*each {
			t.Errorf("generation %d after %d writes, %v", generation, writers*each, err)
		}
		for n := range each {
			name := fmt.Sprintf("c%d", n)
			if versions[s.Version(name)] != name {
				t.Errorf("%s is at version %d, which nobody wrote it as", name, s.Version(name))
			}
		}
	})
}

func TestWrongCalendarsAreRefused(t *testing.T) {
	s := calendar.New(memory.Open(memory.Options{}))
	for name, want := range map[string]string{
		"": "empty", ".": "byte 1", "..": "byte 1", "a/b": "byte 2", "a b": "byte 2", "-": "byte 1", "a\x00": "byte 2", "a\xff": "UTF-8",
		strings.Repeat("日", 65): "at most 64",
	} {
		if _, _, err := s.PutCalendar(t.Context(), name, days(), ruqi.AnyVersion); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"a", "cn-2026.v1_b", "节假日", strings.Repeat("日", 64), "हिन्दी"} {
		if _, _, err := s.PutCalendar(t.Context(), name, days(), ruqi.AnyVersion); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, _, err := s.PutCalendar(t.Context(), "a b", json.RawMessage(`{"dates":["2026-13-01"],"x":1}`), ruqi.AnyVersion)
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) != 3 || invalid.Faults[1].Pointer != "/days/dates/0" {
		t.Errorf("all faults are told at once: %v", err)
	}
}

// What a newer release, or somebody's hand, has written keeps nobody from using the rest.
func TestARecordThatCannotBeReadKeepsToItself(t *testing.T) {
	records := memory.Open(memory.Options{})
	s := calendar.New(records)
	for _, name := range []string{"a", "b", "c"} {
		if _, _, err := s.PutCalendar(t.Context(), name, days("2026-12-25"), ruqi.AnyVersion); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]string{"a": `{"version":9,"days":{"moons":[]}}`, "b": "not JSON"} {
		r, err := records.Get(t.Context(), "calendar", name)
		if err != nil {
			t.Fatal(err)
		}
		r.Data = []byte(data)
		if err := records.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "this release", "b": "cannot be read"} {
		if _, _, err := s.Calendar(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := s.Calendar("c"); err != nil {
		t.Error(err)
	}
	if page, err := s.ListCalendars(t.Context(), "", 0); err != nil || len(page.Calendars) != 3 {
		t.Errorf("%+v, %v", page, err)
	}
	if _, _, err := s.PutCalendar(t.Context(), "b", days("2026-12-25"), ruqi.AnyVersion); err != nil {
		t.Errorf("it cannot be written anew: %v", err)
	}
	if _, err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Calendar("b"); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// dying is a store of records whose process dies, or whose connection breaks, at a step.
type dying struct {
	ruqi.RecordStore
	step string // "put" or "delete"
}

var errDied = errors.New("died")

func (d *dying) Put(ctx context.Context, records ...ruqi.Record) error {
	err := d.RecordStore.Put(ctx, records...)
	if d.step == "put" {
		return errDied
	}
	return err
}

func (d *dying) Delete(ctx context.Context, kind, key string, version int64) error {
	if d.step == "delete" {
		return errDied
	}
	return d.RecordStore.Delete(ctx, kind, key, version)
}

func TestADeathInTheMiddleLeavesNothingHalf(t *testing.T) {
	records := memory.Open(memory.Options{})
	whole := calendar.New(records)
	if _, _, err := calendar.New(&dying{records, "put"}).PutCalendar(t.Context(), "a", days("2026-12-25"), ruqi.NoVersion); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	a, err := whole.FindCalendar(t.Context(), "a")
	if err != nil || string(a.Days) != `{"dates":["2026-12-25"]}` {
		t.Errorf("after a write whose answer was lost: %+v, %v", a, err)
	}
	if err := calendar.New(&dying{records, "delete"}).RemoveCalendar(t.Context(), "a", a.Version); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.FindCalendar(t.Context(), "a"); !errors.Is(err, ruqi.ErrNotFound) {
		t.Errorf("removed, its record left behind: %v", err)
	}
	if page, err := whole.ListCalendars(t.Context(), "", 0); err != nil || len(page.Calendars) != 0 {
		t.Errorf("it is listed: %+v, %v", page, err)
	}
	if _, added, err := whole.PutCalendar(t.Context(), "a", days("2026-12-25"), ruqi.NoVersion); err != nil || added != ruqi.Created {
		t.Errorf("a new one with the same days: %s, %v", added, err)
	}
	if b, err := whole.FindCalendar(t.Context(), "a"); err != nil || b.Version <= a.Version {
		t.Errorf("it has version %d, the one before %d; %v", b.Version, a.Version, err)
	}
}
