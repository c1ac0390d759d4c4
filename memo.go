package ruqi

import (
	"bytes"
	"sync"
)

// A memo remembers what texts were read as, for parts of stored definitions: most jobs of a store have one of a few policies,
// tasks and triggers, and to read these again for each job was half of what a job costs that an instance has never seen. What
// it holds is shared and never changed. The zero value is empty; it may be used by many goroutines.
type memo[T any] struct {
	mu    sync.Mutex // guards known
	known map[string]T
}

const (
	// memoTexts and memoLength (bytes) bound what a memo holds to some 2 MiB.
	memoTexts  = 1000
	memoLength = 1 << 10
)

// read returns what the text stands for, by decode where it is not known. What decode says is not to be kept, as after an
// error, is decoded again the next time.
func (m *memo[T]) read(text []byte, decode func(text []byte) (v T, keep bool)) T {
	m.mu.Lock()
	v, known := m.known[string(text)]
	m.mu.Unlock()
	if known {
		return v
	}
	if len(text) > memoLength {
		v, _ = decode(text)
		return v
	}
	own := bytes.Clone(text) // v may keep some of it, and with a part all of a definition, of up to a megabyte
	v, keep := decode(own)
	if !keep {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= memoTexts { // where each text is another, to forget all is as good as any way
		m.known = map[string]T{}
	}
	m.known[string(own)] = v
	return v
}
