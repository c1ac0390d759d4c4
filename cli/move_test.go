//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What docs/operate.md says of moving to another store: intervals keep their rhythm there.
func TestAJobThatIsMovedKeepsItsRhythm(t *testing.T) {
	fires := func(s *service) (job json.RawMessage, next string) {
		t.Helper()
		job = json.RawMessage(s.ok("job", "get", "x", "-o", "json"))
		var shape struct {
			Next string `json:"next_nominal_time"`
		}
		if err := json.Unmarshal(job, &shape); err != nil || shape.Next == "" {
			t.Fatalf("%s: %v", job, err)
		}
		return job, shape.Next
	}
	from := serve(t, t.TempDir(), "--store", "memory:")
	from.ok("job", "add", "x", "--every", "1h", "--command", "true")
	job, before := fires(from)
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, job, 0o600); err != nil {
		t.Fatal(err)
	}
	to := serve(t, t.TempDir(), "--store", "memory:")
	to.ok("job", "add", "--file", file)
	if _, after := fires(to); after != before {
		t.Errorf("the next fire was at %s, and is at %s", before, after)
	}
}
