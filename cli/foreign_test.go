package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever another program answers, no command takes it for the answer of a service.
func TestAnotherProgramIsNotTakenForAService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.yaml")
	text := "id: x\ntrigger: {kind: interval, every: 1h}\ntask: {kind: command, command: x}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(table, []byte("5 4 * * * true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"status"}, {"wakeup"}, {"instance", "list"}, {"export", "crontab"}, {"calendar", "list"}, {"calendar", "get", "x"},
		{"job", "list"}, {"job", "get", "x"}, {"job", "add", "x", "--every", "1h", "--command", "x"}, {"job", "add", "--file", file},
		{"job", "modify", "x", "--priority", "1"}, {"job", "pause", "x"}, {"job", "resume", "x"}, {"job", "remove", "x"}, {"job", "run", "x"}, {"job", "run", "x", "--wait"},
		{"run", "list"}, {"run", "get", "1"}, {"run", "logs", "1"}, {"run", "logs", "-f", "1"}, {"run", "cancel", "1"},
		{"apply", "-f", file}, {"apply", "-f", file, "--set", "q", "--prune"}, {"diff", "-f", file}, {"import", "crontab", table},
	}
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"an object":           {http.StatusOK, `{"ok":true}`},
		"a list":              {http.StatusOK, `[]`},
		"what a list is here": {http.StatusOK, `{"items":[],"total":0}`},
		"a page":              {http.StatusOK, "<html>"},
		"a thing made":        {http.StatusCreated, `{}`},
		"nothing":             {http.StatusNoContent, ""},
		"another place":       {http.StatusMovedPermanently, ""},
		"not understood":      {http.StatusBadRequest, "Client sent an HTTP request to an HTTPS server."},
		"no such page":        {http.StatusNotFound, "<html>"},
		"no such method":      {http.StatusMethodNotAllowed, ""},
		"no method at all":    {http.StatusNotImplemented, "<html>Unsupported method ('POST')"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if answer.status == http.StatusMovedPermanently {
				w.Header().Set("Location", "https://127.0.0.1:1/")
			}
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		}))
		for _, args := range commands {
			got := run(t, map[string]string{"RUQI_SERVER": server.URL, "RUQI_TOKEN": "x"}, "", args...)
			if got.status != 5 || got.out != "" || !strings.Contains(got.errors, "no Ruqi service") {
				t.Errorf("%s, %q: exit %d: %s%s", name, args, got.status, got.out, got.errors)
			}
		}
		server.Close()
	}
}
