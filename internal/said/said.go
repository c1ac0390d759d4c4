// Package said keeps what loggers and programs say, for tests that look into it.
package said

import (
	"bytes"
	"sync"
)

// A Text is a text that grows. The zero value is empty; it can be read while it is written, by many goroutines.
type Text struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Write implements io.Writer; it never fails.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// String returns what has been written so far.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
