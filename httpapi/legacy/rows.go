package legacy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// rows are those of a list.
type rows struct {
	total int64
	list  []any
	// more returns the rows that follow, none when there are no more; nil: the list is all.
	more func() ([]any, error)
}

// page is the shape of rows that are sent in one piece.
func (r *rows) page() any {
	if r.list == nil {
		r.list = []any{}
	}
	return struct {
		Total int64 `json:"total"`
		List  []any `json:"list"`
	}{r.total, r.list}
}

// pageWrite is how long a reader may take for a thousand rows.
const pageWrite = 30 * time.Second

// stream sends rows as they are read, so that a long list is never whole in memory. Nothing can be told of a failure once it has
// begun: the caller breaks the answer off.
func (a *answer) stream(r *rows) error {
	control := http.NewResponseController(a.w)
	// The server's limit on reading a request is over with it; left in place it would end a long answer.
	_ = control.SetReadDeadline(time.Time{}) // a recorder in tests has none
	a.head("", "")
	a.w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(a.w, 64<<10)
	_, _ = fmt.Fprintf(out, `{"stat":%q,"data":{"total":%d,"list":[`, statOK, r.total) // an error stays with the writer until it is flushed
	begun := false
	for list := r.list; len(list) > 0; {
		_ = control.SetWriteDeadline(time.Now().Add(pageWrite))
		for _, row := range list {
			text, err := json.Marshal(row)
			if err != nil {
				return err
			}
			if begun {
				_ = out.WriteByte(',') // as above
			}
			begun = true
			_, _ = out.Write(text)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		var err error
		if list, err = r.more(); err != nil {
			return err
		}
	}
	_, _ = out.WriteString("]}}\n")
	return out.Flush()
}
