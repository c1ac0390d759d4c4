package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/wire"
)

// A client tells a service from another program by a header, which must not be missing where something went wrong.
func TestEveryAnswerSaysWhoseItIs(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{http.StatusCreated, "POST", "/api/v1/jobs", hourly("x")},
		{http.StatusOK, "GET", "/api/v1/jobs", ""},
		{http.StatusOK, "GET", "/api/openapi.json", ""},
		{http.StatusOK, "GET", "/healthz", ""},
		{http.StatusNoContent, "POST", "/api/v1/wakeup", ""},
		{http.StatusBadRequest, "POST", "/api/v1/jobs", "{"},
		{http.StatusBadRequest, "GET", "/api/v1/jobs?x=%zz", ""},
		{http.StatusNotFound, "GET", "/api/v1/jobs/y", ""},
		{http.StatusNotFound, "GET", "/api/v1/none", ""},
		{http.StatusMethodNotAllowed, "DELETE", "/api/v1/jobs", ""},
		{http.StatusConflict, "POST", "/api/v1/jobs", hourly("x")},
		{http.StatusUnprocessableEntity, "POST", "/api/v1/jobs", "{}"},
		{http.StatusUnauthorized, "GET", "/api/v1/jobs", ""},
	} {
		if c.status == http.StatusUnauthorized {
			s.token = ""
		}
		if got := s.want(c.status, c.method, c.path, c.body); got.Header.Get(wire.APIHeader) != wire.APIVersion {
			t.Errorf("%s %s: %d without %s: %v", c.method, c.path, c.status, wire.APIHeader, got.Header)
		}
	}
	s = serve(t)
	if document := s.want(http.StatusOK, "GET", "/api/openapi.json", "").text; !strings.Contains(document, wire.APIHeader+": "+wire.APIVersion) {
		t.Error("the document does not tell of the header")
	}
}
