//go:build unix

package cli_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A job whose function only another program has is shown as what it is by every door, and all but its function can be changed here.
func TestAJobOfAFunctionThatAnotherProgramHas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shared.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registry := standard.Registry(standard.Options{})
	ruqi.Func(registry, "elsewhere", func(context.Context, struct{ To string }) error { return nil })
	program, err := ruqi.New(store, registry, ruqi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	spec := ruqi.JobSpec{ID: "there", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("elsewhere", map[string]string{"to": "x"})}
	if _, _, err := program.AddJob(t.Context(), spec, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	if err := program.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	s := serve(t, filepath.Join(dir, "service"), "--store", "sqlite:"+path)
	const cmd = `elsewhere{\"to\":\"x\"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/ruqi/get_jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it has been read
	if err != nil || !strings.Contains(string(text), cmd) || strings.Contains(string(text), "unreadable") {
		t.Errorf("an old page shows %s, %v", text, err)
	}
	has(t, s.ok("job", "get", "there"), "parked", `elsewhere{"to":"x"}`)
	s.ok("job", "modify", "there", "--every", "2h")
	if _, stat, reason := s.old("job_modify", s.token(), `{"job_trigger":"interval","job_id":"there","job_name":"there","rule":"3h","cmd":"`+cmd+`"}`); stat != "OK" {
		t.Errorf("a row that is sent back: %s", reason)
	}
	file := tableOf(t, "new.yaml", "id: new\ntrigger: {kind: interval, every: 1h}\ntask: {kind: func, name: elsewhere}\n")
	s.fails(2, `new.yaml:3:`, "apply", "-f", file)
	if got := s.ruqi("job", "get", "new"); got.status == 0 {
		t.Errorf("a new job of it is taken: %s", got.out)
	}
}
