package sqlstore

import (
	"encoding/base64"
	"encoding/json"

	"github.com/ruqi-dev/ruqi"
)

// A Cursor is the place of the last row of a page in the order of its list.
// Sort is the name of that order, so that a cursor of another list is seen to be
// wrong. Text and Number are the sort key where it is one; None says that the row
// has no sort key and stands behind those that have one. ID breaks ties.
type Cursor struct {
	Sort   string `json:"s"`
	Text   string `json:"t,omitempty"`
	Number int64  `json:"n,omitempty"`
	None   bool   `json:"z,omitempty"`
	ID     string `json:"i,omitempty"`
}

// String returns the cursor as it is handed to users.
func (c Cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // strings, numbers and a boolean always encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor reads a cursor for the list in the order sort. A wrong one is an
// *ruqi.InvalidError for "/cursor".
func ParseCursor(text, sort string) (Cursor, error) {
	var c Cursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || c.Sort != sort {
		return Cursor{}, ruqi.Invalid("/cursor", text, "is not a cursor of this list; start again without one")
	}
	return c, nil
}

// PageSize returns the rows of a page: the default for 0 and less, never more than the most.
func PageSize(limit int) int {
	if limit <= 0 {
		return ruqi.DefaultPage
	}
	return min(limit, ruqi.MaxPage)
}
