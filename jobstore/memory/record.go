package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

const (
	defaultList = 50   // as ruqi.RecordStore says
	maxList     = 1000 // likewise
	maxName     = 255  // bytes of a kind or key, as ruqi.Record says
)

// A shelf holds the records of one kind.
type shelf struct {
	records map[string]ruqi.Record
	keys    []string // in byte order
	last    int64    // number of the last appended key
}

func (s *Store) shelf(kind string) *shelf {
	sh := s.records[kind]
	if sh == nil {
		sh = &shelf{records: map[string]ruqi.Record{}}
		s.records[kind] = sh
	}
	return sh
}

func (sh *shelf) put(r ruqi.Record) {
	if _, there := sh.records[r.Key]; !there {
		at, _ := slices.BinarySearch(sh.keys, r.Key)
		sh.keys = slices.Insert(sh.keys, at, r.Key)
	}
	sh.records[r.Key] = r
}

func checkName(faults *ruqi.Faults, pointer, name string) {
	if len(name) < 1 || len(name) > maxName {
		faults.Add(pointer, name, "takes 1 to %d bytes, not %d", maxName, len(name))
	}
}

// find returns one record; there is none where ok is false.
func (s *Store) find(kind, key string) (r ruqi.Record, ok bool) {
	if sh := s.records[kind]; sh != nil {
		r, ok = sh.records[key]
	}
	return r, ok
}

// Get returns one record, or ErrNotFound.
func (s *Store) Get(ctx context.Context, kind, key string) (ruqi.Record, error) {
	if _, err := s.begin(ctx); err != nil {
		return ruqi.Record{}, err
	}
	defer s.mu.Unlock()
	r, ok := s.find(kind, key)
	if !ok {
		return ruqi.Record{}, ruqi.ErrNotFound
	}
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// Put writes all records or none, as ruqi.RecordStore says. A record that is named twice
// is a conflict with itself.
func (s *Store) Put(ctx context.Context, records ...ruqi.Record) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	var faults ruqi.Faults
	type name struct{ kind, key string }
	seen := make(map[name]bool, len(records))
	conflict := ""
	for _, r := range records {
		checkName(&faults, "/kind", r.Kind)
		checkName(&faults, "/key", r.Key)
		old, _ := s.find(r.Kind, r.Key) // version 0 where there is none
		if n := (name{r.Kind, r.Key}); old.Version != r.Version || seen[n] {
			conflict = r.Kind + "/" + r.Key
		} else {
			seen[n] = true
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if conflict != "" {
		return fmt.Errorf("put %s: %w", conflict, ruqi.ErrConflict)
	}
	for _, r := range records {
		r.Version++
		r.Updated = timeOf(now)
		s.shelf(r.Kind).put(r)
	}
	return nil
}

// Delete removes the record at that version: ErrNotFound if there is none, ErrConflict if it is at another.
func (s *Store) Delete(ctx context.Context, kind, key string, version int64) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r, ok := s.find(kind, key)
	switch {
	case !ok:
		return ruqi.ErrNotFound
	case r.Version != version:
		return fmt.Errorf("delete %s/%s: %w", kind, key, ruqi.ErrConflict)
	}
	sh := s.records[kind]
	delete(sh.records, key)
	at, _ := slices.BinarySearch(sh.keys, key)
	sh.keys = slices.Delete(sh.keys, at, at+1)
	return nil
}

// List returns records of the kind by key, as ruqi.RecordStore says.
func (s *Store) List(ctx context.Context, kind, prefix, after string, limit int) ([]ruqi.Record, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if limit <= 0 {
		limit = defaultList
	}
	limit = min(limit, maxList)
	sh := s.records[kind]
	if sh == nil {
		return nil, nil
	}
	at, found := slices.BinarySearch(sh.keys, max(prefix, after))
	if found && after >= prefix && after != "" {
		at++
	}
	var list []ruqi.Record
	for ; at < len(sh.keys) && len(list) < limit && strings.HasPrefix(sh.keys[at], prefix); at++ {
		r := sh.records[sh.keys[at]]
		r.Data = bytes.Clone(r.Data)
		list = append(list, r)
	}
	return list, nil
}

// Append writes a record under a new key, as ruqi.RecordStore says. Keys are decimal numbers
// of 19 digits: as many as the largest has.
func (s *Store) Append(ctx context.Context, kind string, data []byte) (string, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	var faults ruqi.Faults
	checkName(&faults, "/kind", kind)
	if err := faults.Err(); err != nil {
		return "", err
	}
	sh := s.shelf(kind)
	sh.last++
	key := fmt.Sprintf("%019d", sh.last)
	sh.put(ruqi.Record{Kind: kind, Key: key, Version: 1, Data: data, Updated: timeOf(now)})
	return key, nil
}
