package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

// A line answers requests without a network, so that the time of the tests can be synctest's.
type line func(*http.Request) (*http.Response, error)

func (l line) RoundTrip(r *http.Request) (*http.Response, error) { return l(r) }

// says is an answer of a status and a text.
func says(status int, text string) line {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{Status: http.StatusText(status), StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r, Header: http.Header{wire.APIHeader: {wire.APIVersion}}}, nil
	}
}

// proxySays is an answer of what stands before a service.
func proxySays(status int) line {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := says(status, "<html>")(r)
		resp.Header = nil
		return resp, err
	}
}

const (
	running = `{"id":7,"state":"running"}`
	ended   = `{"id":7,"state":"succeeded"}`
)

// aways are the ways in which a service can be away for a while.
var aways = map[string]line{
	"its store does not answer": says(http.StatusServiceUnavailable, `{"type":"urn:ruqi:unavailable","status":503,"detail":"store"}`),
	"a busy proxy":              proxySays(http.StatusServiceUnavailable),
	"a proxy without a service": proxySays(http.StatusBadGateway),
	"a proxy that waits for it": proxySays(http.StatusGatewayTimeout),
	"a proxy in its own words":  proxySays(521),
	"a refused connection":      func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED },
	"an answer that breaks off": func(r *http.Request) (*http.Response, error) {
		resp, err := says(http.StatusOK, running)(r)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(running[:9]), broken{}))
		return resp, err
	},
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// waitOn waits for the end of a run, and says how long it took. answer is asked with the time since the begin.
func waitOn(t *testing.T, ctx context.Context, answer func(since time.Duration) line) (run ruqi.Run, took time.Duration, err error) {
	t.Helper()
	begin := time.Now()
	transport := line(func(r *http.Request) (*http.Response, error) { return answer(time.Since(begin))(r) })
	c, err := client.New("http://127.0.0.1:8585", token, newRegistry(anywhere{}), client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	run, err = c.WaitRun(ctx, 7)
	return run, time.Since(begin), err
}

func TestAServiceThatIsAwayForAWhileDoesNotEndAWait(t *testing.T) {
	for name, away := range aways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, took, err := waitOn(t, t.Context(), func(since time.Duration) line {
					// Twice nearly two minutes, with one answer between.
					switch minutes := since.Minutes(); {
					case minutes < 1, minutes > 2.9 && minutes < 3:
						return says(http.StatusOK, running)
					case minutes < 4.9:
						return away
					}
					return says(http.StatusOK, ended)
				})
				if err != nil || run.State != ruqi.RunSucceeded || took < 294*time.Second || took > 295*time.Second {
					t.Errorf("after %s: %+v, %v", took, run.State, err)
				}
			})
		})
	}
}

func TestAServiceThatStaysAwayEndsAWait(t *testing.T) {
	for name, away := range aways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, took, err := waitOn(t, t.Context(), func(since time.Duration) line {
					if since < time.Minute {
						return says(http.StatusOK, running)
					}
					return away
				})
				if !errors.Is(err, ruqi.ErrUnavailable) && !errors.Is(err, client.ErrUnreachable) {
					t.Errorf("%v, want unavailable or unreachable", err)
				}
				if took < 179*time.Second || took > 181*time.Second {
					t.Errorf("it gave up after %s, want two minutes after the last answer", took)
				}
			})
		})
	}
}

func TestTheContextEndsAWaitForAServiceThatIsAway(t *testing.T) {
	for name, away := range aways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, took, err := waitOn(t, ctx, func(time.Duration) line { return away })
				if !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// What no patience mends ends a wait at once.
func TestAnAnswerThatStaysAsItIsEndsAWaitAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answer line
		want   error
	}{
		"no such run":         {says(http.StatusNotFound, `{"type":"urn:ruqi:not-found","status":404,"detail":"run 7"}`), ruqi.ErrNotFound},
		"another program":     {says(http.StatusNotFound, "<html>"), client.ErrUnreachable},
		"a token that is off": {says(http.StatusUnauthorized, `{"status":401}`), client.ErrDenied},
		"a fault":             {says(http.StatusInternalServerError, "oops"), nil},
		"another page":        {says(http.StatusOK, "<html>"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, took, err := waitOn(t, t.Context(), func(time.Duration) line { return c.answer })
				if err == nil || c.want != nil && !errors.Is(err, c.want) || took != 0 {
					t.Errorf("after %s: %v, want %v", took, err, c.want)
				}
			})
		})
	}
}
