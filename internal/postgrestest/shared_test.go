package postgrestest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// again runs one test of this binary in a process of its own, with that address in
// RUQI_TEST_POSTGRES, and returns what it printed.
func again(t *testing.T, address string) (output string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWhatATestTookIsGoneAfterIt$", "-test.v")
	cmd.Env = append(os.Environ(), "RUQI_TEST_POSTGRES="+address)
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}

func TestAServerThatIsNamedIsUsed(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{Password: "geheim"})
	output, failed := again(t, s.URL())
	if failed || strings.Contains(output, "SKIP") {
		t.Errorf("the test fails on a server that is there:\n%s", output)
	}
	if !strings.Contains(output, ", from RUQI_TEST_POSTGRES\n") || strings.Contains(output, ", private\n") {
		t.Errorf("it does not say which server it used, or used another:\n%s", output)
	}
	if strings.Contains(output, "geheim") {
		t.Errorf("it tells the password:\n%s", output)
	}
}

func TestAServerThatIsNamedAndNotThereIsAFailure(t *testing.T) {
	s := postgrestest.New(t, postgrestest.Options{Password: "geheim"})
	there := s.URL()
	for _, c := range []struct{ title, address, says string }{
		{"nobody listens", "postgres://postgres:geheim@127.0.0.1:1/postgres?sslmode=disable", "cannot be reached"},
		{"a wrong password", strings.Replace(there, "geheim", "geheimer", 1), "cannot be reached"},
		{"a database that is not there", strings.Replace(there, "/postgres?", "/nothing?", 1), "cannot be reached"},
		{"no URL", "geheim", "is no URL"},
		{"a broken URL", "postgres://postgres:geheim%zz@127.0.0.1/", "is no URL"},
		{"another database", "mysql://root:geheim@127.0.0.1/", "is no URL"},
	} {
		t.Run(c.title, func(t *testing.T) {
			output, failed := again(t, c.address)
			if !failed || !strings.Contains(output, "--- FAIL: TestWhat") || !strings.Contains(output, "RUQI_TEST_POSTGRES") || !strings.Contains(output, c.says) {
				t.Errorf("want a test that fails and says that RUQI_TEST_POSTGRES %s; it prints\n%s", c.says, output)
			}
			if strings.Contains(output, "geheim") {
				t.Errorf("it tells the password:\n%s", output)
			}
		})
	}
}
