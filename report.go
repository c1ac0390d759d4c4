package ruqi

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxResult is how many bytes a run's result may have.
	MaxResult = 64 << 10
	// MaxProgressText is how many characters of a progress text are kept.
	MaxProgressText = 255
	// maxResultDepth is how many lists and objects may lie within each other in a result. Every reader of a page with
	// such a run must be able to read it: encoding/json gives up at 10,000, others at 1,000 and less.
	maxResultDepth = 100
	// progressEvery is how often the progress of one run is written at most.
	progressEvery = time.Second
)

// A report is what a task told of itself. The zero value is ready for use.
type report struct {
	mu       sync.Mutex // guards all
	result   json.RawMessage
	progress *float64 // what it points to is never changed
	text     string
	changed  bool      // progress or text, since they were written
	flying   bool      // what was taken last is on its way to the store
	written  time.Time // when it was taken
	closed   bool
}

var _ Reporter = (*report)(nil)

// Progress implements Reporter.
func (r *report) Progress(fraction float64, text string) {
	text = progressText(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	switch {
	case !math.IsNaN(fraction):
		fraction = min(max(fraction, 0), 1)
	case r.progress != nil:
		fraction = *r.progress
	default:
		fraction = 0
	}
	if r.progress == nil || *r.progress != fraction {
		r.progress, r.changed = &fraction, true
	}
	if r.text != text {
		r.text, r.changed = text, true
	}
}

// SetResult implements Reporter.
func (r *report) SetResult(value json.RawMessage) error {
	result, err := checkResult(value)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrEnded
	}
	r.result = result
	return nil
}

// due reports whether there is a progress to write now.
func (r *report) due(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dueAt(now)
}

func (r *report) dueAt(now time.Time) bool {
	// Ticks come a little early or late; one that is early by less than half of their distance is meant.
	return r.changed && !r.closed && now.Sub(r.written) > progressEvery-flushEvery/2
}

// join puts the progress, if there is one to write now, into the first of a run's updates, or into one of its own.
func (r *report) join(updates []RunUpdate, id int64, now time.Time) []RunUpdate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flying = r.dueAt(now); !r.flying {
		return updates
	}
	r.changed, r.written = false, now
	if len(updates) == 0 {
		updates = []RunUpdate{{ID: id}}
	}
	progress := *r.progress
	updates[0].Progress, updates[0].ProgressText = &progress, r.text
	return updates
}

// put says that what was taken last could not be written.
func (r *report) put() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed, r.flying = r.changed || r.flying, false
}

// close returns what is kept with the run's end; nothing told afterwards counts.
func (r *report) close() (result json.RawMessage, progress *float64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.result, r.progress, r.text
}

// progressText is one line of the text as it is kept: UTF-8 without control characters, with "…" at the end where
// something is missing.
func progressText(text string) string {
	text = strings.TrimFunc(text, isBlank)
	const most = utf8.UTFMax * (MaxProgressText + 1) // bytes; what comes after is not looked at
	if len(text) > most {
		text = text[:most]
	}
	var b strings.Builder
	n := 0
	for _, r := range text { // bytes that are not UTF-8 come as U+FFFD
		if n++; n > MaxProgressText {
			kept := []rune(b.String())
			return string(kept[:MaxProgressText-1]) + "…"
		}
		if isBlank(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isBlank reports whether a character is a blank in a progress text: control characters and ends of lines are.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// encodeResult encodes a value as a result is kept: what is for web pages is not escaped.
func encodeResult(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, Invalid("", "", "it cannot be encoded: %v", err)
	}
	return b.Bytes(), nil
}

// checkResult returns the value as it is kept, nil for null.
func checkResult(value json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(value) {
		return nil, Invalid("", "", "not UTF-8")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, Invalid("", "", "not JSON: %v", err)
	}
	result := b.Bytes()
	switch {
	case b.Len() > MaxResult:
		return nil, Invalid("", "", "%d bytes of JSON; accepted are at most %d", b.Len(), MaxResult)
	case depth(result) > maxResultDepth:
		return nil, Invalid("", "", "more than %d lists and objects within each other", maxResultDepth)
	case string(result) == "null":
		return nil, nil
	}
	return bytes.Clone(result), nil // without the room that the buffer has left
}

// depth is how many lists and objects lie within each other in a JSON value.
func depth(value []byte) int {
	deepest, now, text := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}
