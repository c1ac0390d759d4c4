package sqlstore

import (
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

const (
	maxRecordName = 255  // bytes of a kind or key, as ruqi.Record says
	maxRecordPage = 1000 // records of one list, as ruqi.RecordStore says
)

// CheckRecordNames reports kinds and keys that are too short or too long, as an *ruqi.InvalidError.
func CheckRecordNames(records ...ruqi.Record) error {
	var faults ruqi.Faults
	for _, r := range records {
		for pointer, name := range map[string]string{"/kind": r.Kind, "/key": r.Key} {
			if len(name) < 1 || len(name) > maxRecordName {
				faults.Add(pointer, name, "has %d bytes; 1 to %d are allowed", len(name), maxRecordName)
			}
		}
	}
	return faults.Err()
}

// RecordPage returns the records of a list: the default for 0 and less, never more than the most.
func RecordPage(limit int) int {
	if limit <= 0 {
		return ruqi.DefaultPage
	}
	return min(limit, maxRecordPage)
}

// RecordKey returns the key of the nth appended record: sixteen digits, so that keys grow in byte order.
func RecordKey(n int64) string {
	digits := strconv.FormatInt(n, 10)
	return strings.Repeat("0", max(16-len(digits), 0)) + digits
}
