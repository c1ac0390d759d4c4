//go:build unix

package cli_test

import (
	"strings"
	"testing"
)

// A change of a job and a file that says the same make the same job.
func TestAJobThatIsChangedToAnotherKindOfTaskTakesItsPool(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:", "--allow-net", "127.0.0.1/32")
	pool := func(id, want string) {
		t.Helper()
		if got := s.ok("job", "get", id); !strings.Contains(got, "executor  "+want+"\n") {
			t.Errorf("%s is not in pool %s:\n%s", id, want, got)
		}
	}
	s.ok("job", "add", "x", "--every", "1h", "--command", "true")
	pool("x", "command")
	s.ok("job", "modify", "x", "--webhook", "http://127.0.0.1:1/")
	pool("x", "default")
	s.ok("job", "modify", "x", "--", "true")
	pool("x", "command")
	s.ok("job", "modify", "x", "--webhook", "http://127.0.0.1:1/", "--executor", "command")
	pool("x", "command")
}
