package ruqi

import (
	"context"
	"time"
)

// A Record is a small thing that must last beside jobs and runs: a token's hash,
// a setting, a calendar.
type Record struct {
	// Kind and Key name it: 1 to 255 bytes each.
	Kind, Key string
	// Version counts its writes from 1.
	Version int64
	Data    []byte
	Updated time.Time
}

// A RecordStore keeps records. Every JobStore of this module is one too. The
// laws of JobStore hold; ErrNotFound and ErrConflict are its errors.
type RecordStore interface {
	// Get returns one record, or ErrNotFound.
	Get(ctx context.Context, kind, key string) (Record, error)
	// Put writes all records or none. Version 0 says that the record must be new,
	// n that it must be at version n; else ErrConflict. The stored version is then one higher.
	// Updated is set by the store.
	Put(ctx context.Context, records ...Record) error
	// Delete removes the record at that version: ErrNotFound if there is none, ErrConflict if it is at another.
	Delete(ctx context.Context, kind, key string, version int64) error
	// List returns at most limit (at most 1,000; 0: 50) records of the kind whose
	// keys begin with prefix and are greater than after, by key in byte order.
	List(ctx context.Context, kind, prefix, after string, limit int) ([]Record, error)
	// Append writes a record under a new key and returns it. Keys grow in byte order, and no
	// record ever appears below a key that List has already returned.
	Append(ctx context.Context, kind string, data []byte) (key string, err error)
}
