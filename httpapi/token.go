package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Token lets its bearer do everything.
type Token struct {
	// Name says in history who did something: "cancelled by NAME".
	Name string
	// Hash is the SHA-256 of the token: a copy of the store gives nobody a token.
	Hash [sha256.Size]byte
}

const (
	// tokensKeep is how long a token that was replaced elsewhere may still be taken: what whoever replaces one can wait for.
	tokensKeep = 5 * time.Second
	// tokensPause is between two looks for the sake of tokens that are not known: whoever guesses costs the store no more than that.
	tokensPause = time.Second
	// tokensLimit is how long one look may take; what is known goes on meanwhile, and when the store is away.
	tokensLimit = time.Second
)

// tokens are those who may, as far as is known here.
type tokens struct {
	read   func(ctx context.Context) ([]Token, error) // nil: they stay as they are
	logger *slog.Logger

	mu      sync.Mutex // guards all below
	known   []Token
	asked   time.Time     // when the last look ended
	looking chan struct{} // closed when the look under way has ended; nil: none is
}

// bearer finds the token of a request among those who may. One that another service has replaced is refused after tokensKeep,
// and the new one is known as soon as somebody brings it.
func (t *tokens) bearer(ctx context.Context, headers []string) (name string, ok bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	hash := sha256.Sum256([]byte(strings.TrimSpace(token)))
	if name, ok = match(t.list(ctx, tokensKeep), hash); !ok {
		name, ok = match(t.list(ctx, tokensPause), hash)
	}
	return name, ok
}

// match compares hashes, all of them and each in constant time, so that the time taken tells nothing about a token.
func match(known []Token, hash [sha256.Size]byte) (name string, ok bool) {
	for _, t := range known {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 {
			name, ok = t.Name, true
		}
	}
	return name, ok
}

// list returns the tokens. When the last look ended that long ago or more it looks anew, or waits for who does.
func (t *tokens) list(ctx context.Context, age time.Duration) []Token {
	t.mu.Lock()
	known, looking := t.known, t.looking
	if t.read == nil || time.Since(t.asked) < age {
		t.mu.Unlock()
		return known
	}
	if looking == nil {
		t.looking = make(chan struct{})
		t.mu.Unlock()
		return t.look(ctx)
	}
	t.mu.Unlock()
	select {
	case <-looking:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// look reads the tokens anew. Where they cannot be read those known stay: a store that is away locks nobody out of the status.
func (t *tokens) look(ctx context.Context) []Token {
	// Others wait for it too: it does not end with the request that it began for.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokensLimit)
	defer cancel()
	read, err := t.read(ctx)
	t.mu.Lock()
	changed := err == nil && !slices.Equal(read, t.known)
	if changed {
		t.known = read
	}
	known := t.known
	t.asked = time.Now()
	close(t.looking)
	t.looking = nil
	t.mu.Unlock()
	switch {
	case changed:
		t.logger.InfoContext(ctx, "tokens replaced: those before are refused from now on")
	case err != nil:
		t.logger.DebugContext(ctx, "tokens cannot be read again", "error", err)
	}
	return known
}
