package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestAddressesAndTokensThatCannotBeAreRefused(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8585", "ftp://x", "http://", "http://user:secret@x", "http://x?y=z", "http://x#y", "http://%zz"} {
		if _, err := client.New(address, "", newRegistry(anywhere{}), client.Options{}); !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%q: %v, want an invalid input", address, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if _, err := client.New("http://x", "a\nb", newRegistry(anywhere{}), client.Options{}); !errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("a token with a line break: %v", err)
	}
}

func TestAnAddressWithoutAServiceIsUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://"+address, token, newRegistry(anywhere{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("%v, want unreachable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's end", err)
	}
}

// answering returns a client of a server that answers everything alike.
func answering(t *testing.T, handle http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(wire.APIHeader, wire.APIVersion)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, token, newRegistry(anywhere{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAnswersOfOthersAreToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"a wrong token":          {http.StatusUnauthorized, `{"status":401,"detail":"a token is needed"}`, client.ErrDenied},
		"a proxy's refusal":      {http.StatusForbidden, "<html>", client.ErrDenied},
		"a proxy without server": {http.StatusBadGateway, "<html>", client.ErrUnreachable},
		"a store that is away":   {http.StatusServiceUnavailable, `{"type":"urn:ruqi:unavailable","status":503,"detail":"store"}`, ruqi.ErrUnavailable},
		"a busy proxy":           {http.StatusServiceUnavailable, "<html>", ruqi.ErrUnavailable},
		"a page of another kind": {http.StatusOK, "<html>", nil},
		"a redirect elsewhere":   {http.StatusFound, "", nil},
		"a fault":                {http.StatusInternalServerError, "oops", nil},
	} {
		cl := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			_, _ = fmt.Fprint(w, c.body)
		})
		_, err := cl.Job(t.Context(), "x")
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAnAddressThatIsNotTheRootIsToldApart(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"another program": http.NotFound,
		"a path too many": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"no such path"}`))
		},
	} {
		_, err := answering(t, handle).Job(t.Context(), "x")
		if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "/api/v1/jobs/x") || !strings.Contains(err.Error(), "root") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestModifyTriesAgainWhenOthersAreFaster(t *testing.T) {
	c := remote(t)
	if _, _, err := c.AddJob(t.Context(), yearly("x"), ""); err != nil {
		t.Fatal(err)
	}
	calls := 0
	job, err := c.ModifyJob(t.Context(), "x", func(job *ruqi.Job) error {
		if calls++; calls < 3 {
			if _, err := c.ModifyJob(t.Context(), "x", func(job *ruqi.Job) error { job.Priority++; return nil }); err != nil {
				return err
			}
		}
		job.Description = "mine"
		return nil
	})
	if err != nil || calls != 3 || job.Priority != 2 || job.Description != "mine" {
		t.Errorf("%d calls, %+v, %v", calls, job, err)
	}
	calls = 0
	_, err = c.ModifyJob(t.Context(), "x", func(*ruqi.Job) error {
		calls++
		_, err := c.ModifyJob(t.Context(), "x", func(job *ruqi.Job) error { job.Priority++; return nil })
		return err
	})
	if !errors.Is(err, ruqi.ErrVersion) || calls > 20 {
		t.Errorf("a job that never rests: %v after %d calls", err, calls)
	}
	if _, err := c.ModifyJob(t.Context(), "x", func(job *ruqi.Job) error { job.ID = "y"; return nil }); !errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("a changed id: %v", err)
	}
}

func TestAJobOfAnUnknownKindIsListedAndPassedOn(t *testing.T) {
	const text = `{"id":"x","name":"x","trigger":{"kind":"moon","phase":"full"},"task":{"kind":"robot","arm":1},
		"policy":{"coalesce":true,"kill_grace":"10s","jitter":"0s"},"state":"active","version":1}`
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, text) })
	job, err := c.Job(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if job.Trigger.Kind() != "moon" || job.Task.Kind() != "robot" || job.Task.Needs() != "robot" {
		t.Errorf("trigger %v, task %v", job.Trigger, job.Task)
	}
	if _, ok := job.Trigger.Next(job.Created); ok {
		t.Error("a trigger of an unknown kind fires")
	}
	if data, err := job.Task.MarshalJSON(); err != nil || string(data) != `{"kind":"robot","arm":1}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestOutputIsCopiedWhole(t *testing.T) {
	c := remote(t)
	if _, _, err := c.AddJob(t.Context(), yearly("x"), ""); err != nil {
		t.Fatal(err)
	}
	run, err := c.RunNow(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.CopyOutput(t.Context(), &b, run.ID, client.Follow); err != nil || b.String() != "hello you\n" {
		t.Errorf("followed %q, %v", b.String(), err)
	}
	b.Reset()
	if err := c.CopyOutput(t.Context(), &b, run.ID, client.Kept); err != nil || b.String() != "hello you\n" {
		t.Errorf("kept %q, %v", b.String(), err)
	}
	if err := c.CopyOutput(t.Context(), &b, 4711, client.Kept); !errors.Is(err, ruqi.ErrNotFound) {
		t.Errorf("no run: %v", err)
	}
}

// What only a scheduler can do is refused, not left out.
func TestAPastDateIsNotAcceptedOverHTTP(t *testing.T) {
	c := remote(t)
	spec := ruqi.JobSpec{ID: "past", Trigger: trigger.Date(time.Now().Add(-time.Hour)), Task: ruqi.Call("greet", struct{ Name string }{"x"}), AcceptPast: true}
	if _, _, err := c.AddJob(t.Context(), spec, ruqi.Fail); !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "accept_past") {
		t.Errorf("added: %v", err)
	}
	spec.Trigger, spec.AcceptPast = trigger.EveryDuration(time.Hour), false
	if _, _, err := c.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	_, err := c.ModifyJob(t.Context(), "past", func(job *ruqi.Job) error {
		job.Trigger, job.AcceptPast = trigger.Date(time.Now().Add(-time.Hour)), true
		return nil
	})
	if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), "accept_past") {
		t.Errorf("modified: %v", err)
	}
}
