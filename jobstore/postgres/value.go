package postgres

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// micro is t as it will be read: in UTC, to the microsecond.
func micro(t time.Time) time.Time { return sqlstore.Time(sqlstore.Micros(t)) }

// microPtr changes what t points to as micro does; the store owns what it was given.
func microPtr(t *time.Time) *time.Time {
	if t != nil {
		*t = micro(*t)
	}
	return t
}

// timeAt scans a time that is there, in UTC.
type timeAt struct{ t *time.Time }

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (s timeAt) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s.t = v.Time.UTC()
	return nil
}

// timeOrNil scans a time that may be absent.
type timeOrNil struct{ t **time.Time }

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (s timeOrNil) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s.t = nil
	if v.Valid {
		t := v.Time.UTC()
		*s.t = &t
	}
	return nil
}

// stamps are times for an array parameter; one that is not valid stands for an absent one.
type stamps = pgtype.FlatArray[pgtype.Timestamptz]

// stamp is a time as an element of stamps; nil: absent.
func stamp(t *time.Time) pgtype.Timestamptz {
	if t == nil {
		return pgtype.Timestamptz{}
	}
	return pgtype.Timestamptz{Time: *t, Valid: true}
}

// zero is the value of an absent column.
func zero[T any](v *T) (none T) {
	if v == nil {
		return none
	}
	return *v
}

// orNil is nil for the zero value, which takes no room in a row.
func orNil[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// textOf makes a text that PostgreSQL takes: it has neither NUL nor broken UTF-8.
func textOf(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// jsonText is a JSON text as a column; nil stays absent.
func jsonText(data json.RawMessage) *string {
	if data == nil {
		return nil
	}
	s := textOf(string(data))
	return &s
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // slices and maps of numbers and strings always encode
	}
	return string(b)
}

// arrays lists parameters from $first on, one array of each type: "$1::text[], $2::bigint[]".
func arrays(first int, types ...string) string {
	parts := make([]string, len(types))
	for i, name := range types {
		parts[i] = fmt.Sprintf("$%d::%s[]", first+i, name)
	}
	return strings.Join(parts, ", ")
}
