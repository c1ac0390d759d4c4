package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/wire"
)

// A service that is away at the moment when a wait would say why nothing begins does not end the wait.
func TestAWaitGoesOnWhenTheServiceIsAwayForAMoment(t *testing.T) {
	begin := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(wire.APIHeader, wire.APIVersion)
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id":7,"job_id":"x","state":"queued"}`)
		case r.URL.Path != "/api/v1/runs/7":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"urn:ruqi:not-found","status":404,"detail":"no such thing"}`)
		case time.Since(begin) < 3*time.Second: // a second more than a wait stays silent
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, `{"id":7,"job_id":"x","state":"succeeded"}`)
		}
	}))
	defer server.Close()
	got := run(t, map[string]string{"RUQI_SERVER": server.URL, "RUQI_TOKEN": "t"}, "", "job", "run", "x", "--wait")
	if got.status != 0 || !strings.Contains(got.out, "run 7 of x: succeeded") {
		t.Errorf("%+v", got)
	}
}
