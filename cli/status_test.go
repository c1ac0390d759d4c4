package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/wire"
)

func TestAStatusWithoutTheStoreShowsNoCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(wire.APIHeader, wire.APIVersion)
		_, _ = io.WriteString(w, `{"instance":"a","state":"running","store":{"kind":"postgres","where":"postgres://h/d","ok":false,"error":"it is away"},
			"jobs":{"active":null,"paused":null,"finished":null,"parked":null},"runs":{"running":null,"queued":null},"slots":{"command":{"used":1,"size":8}},"zone":"UTC"}`)
	}))
	defer server.Close()
	env := map[string]string{"RUQI_SERVER": server.URL, "RUQI_TOKEN": "x"}
	got := run(t, env, "", "status")
	for _, want := range []string{`(?m)^jobs +-$`, `(?m)^runs +-$`, `fails: it is away`, `command 1 of 8`} {
		if !regexp.MustCompile(want).MatchString(got.out) {
			t.Errorf("the table lacks %s:\n%s", want, got.out)
		}
	}
	if got.status != 0 {
		t.Errorf("exit %d, though the service answers: %s", got.status, got.errors)
	}
	if got = run(t, env, "", "status", "-o", "json"); !strings.Contains(got.out, `"active": null`) || !strings.Contains(got.out, `"queued": null`) {
		t.Errorf("as JSON: %s", got.out)
	}
}
