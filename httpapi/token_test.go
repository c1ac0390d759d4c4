package httpapi_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi/httpapi"
)

// asks sends a request with a token to the handler, and returns the status of the answer.
func asks(t *testing.T, handler http.Handler, token string) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/openapi.json", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, req)
	return out.Code
}

func named(token string) []httpapi.Token {
	return []httpapi.Token{{Name: "admin", Hash: sha256.Sum256([]byte(token))}}
}

func TestATokenReplacedElsewhereIsRefusedWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, _, _ := newOptions(t)
		stored, looks, away := "old", 0, false
		options.Tokens = named(stored)
		options.ReadTokens = func(ctx context.Context) ([]httpapi.Token, error) {
			looks++
			if away {
				<-ctx.Done()
				return nil, errors.New("the store is away")
			}
			return named(stored), nil
		}
		handler := httpapi.New(options)
		want := func(when, token string, status int) {
			t.Helper()
			if got := asks(t, handler, token); got != status {
				t.Errorf("%s the token %q is answered with %d, want %d", when, token, got, status)
			}
		}
		want("at first", "old", 200)
		want("at first", "new", 401)
		time.Sleep(time.Minute)

		stored = "new"
		want("when somebody brings it", "new", 200)
		want("after that", "old", 401)

		stored = "newer"
		want("at once", "new", 200)
		time.Sleep(5 * time.Second)
		want("after five seconds", "new", 401)
		want("after five seconds", "newer", 200)

		time.Sleep(time.Minute)
		looks = 0
		for range 100 {
			want("guessed", "guess", 401)
			time.Sleep(20 * time.Millisecond)
		}
		if looks > 3 {
			t.Errorf("guesses of two seconds make it look %d times", looks)
		}

		away = true
		time.Sleep(time.Minute)
		begin := time.Now()
		want("while the store is away", "newer", 200)
		want("while the store is away", "new", 401)
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("while the store is away two answers take %s", took)
		}
	})
}

func TestManyAtOnceMakeOneLookForTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, _, _ := newOptions(t)
		looks := 0
		options.Tokens = named("old")
		options.ReadTokens = func(context.Context) ([]httpapi.Token, error) {
			looks++ // a race, where two look at once
			time.Sleep(100 * time.Millisecond)
			return named("new"), nil
		}
		handler := httpapi.New(options)
		time.Sleep(time.Minute)
		for range 50 {
			go func() {
				if got := asks(t, handler, "old"); got != http.StatusUnauthorized {
					t.Errorf("the old token is answered with %d", got)
				}
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if looks != 1 {
			t.Errorf("it looked %d times", looks)
		}
	})
}
