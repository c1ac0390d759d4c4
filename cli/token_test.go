//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestALostTokenIsReplacedOnDemand(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	old := first.token()
	first.signal(syscall.SIGTERM)
	first.wait()
	path := filepath.Join(dir, "admin-token")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lost := serve(t, dir)
	if said := lost.log.String(); !strings.Contains(said, "there is no "+path) || !strings.Contains(said, "--new-token") || strings.Contains(said, "first start") {
		t.Errorf("said of a lost token:\n%s", said)
	}
	lost.fails(4, "no token was sent", "status")
	lost.signal(syscall.SIGTERM)
	lost.wait()
	s := serve(t, dir, "--new-token")
	token := s.token()
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if token == old || s.get("/api/v1/jobs", old) != 401 || s.get("/api/v1/jobs", token) != 200 {
		t.Errorf("the old token is served, or the new one is not:\n%s", s.log)
	}
	if said := s.log.String(); !strings.Contains(said, path) || strings.Contains(said, token) {
		t.Errorf("said of the new token:\n%s", said)
	}
	s.ok("status")
	s.signal(syscall.SIGTERM)
	s.wait()
	if again := serve(t, dir); again.token() != token || again.get("/api/v1/jobs", token) != 200 {
		t.Errorf("the next start has another token:\n%s", again.log)
	}
}

func TestAStartThatFailsLeavesTheToken(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	token := s.token()
	address := strings.TrimPrefix(s.url, "http://")
	if got := finish(t, program(t, dir, "serve", "--new-token", "--listen", address)); got.status != 1 || !strings.Contains(got.errors, "cannot serve") {
		t.Errorf("a second service at the address: %+v", got)
	}
	if s.token() != token || s.get("/api/v1/jobs", token) != 200 {
		t.Error("the token is another one")
	}
}

func TestADeniedCommandSaysWhichTokenItSent(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	other := t.TempDir()
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"no token":                 {map[string]string{"RUQI_DATA_DIR": other}, nil, []string{"no token was sent", "--token", "RUQI_TOKEN", other + "/admin-token", "RUQI_DATA_DIR"}},
		"a wrong one by flag":      {map[string]string{"RUQI_DATA_DIR": other}, []string{"--token", "x"}, []string{"refused the token from --token", "--new-token"}},
		"a wrong one by variable":  {map[string]string{"RUQI_TOKEN": "x"}, nil, []string{"refused the token from RUQI_TOKEN"}},
		"a token of other letters": {map[string]string{"RUQI_TOKEN": "x"}, []string{"--token", "y"}, []string{"refused the token from --token"}},
	} {
		c.env["RUQI_SERVER"] = s.url
		got := run(t, c.env, "", append([]string{"status"}, c.args...)...)
		for _, want := range c.want {
			if got.status != 4 || !strings.Contains(got.errors, want) {
				t.Errorf("%s: exit %d, want %q: %s", name, got.status, want, got.errors)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(other, "admin-token"), []byte("rq_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": other}, "", "status"); !strings.Contains(got.errors, "refused the token from "+other+"/admin-token") {
		t.Errorf("a wrong one in the file: %s", got.errors)
	}
}

func TestANewTokenHoldsForRunningServicesToo(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "shared.db")
	running := serve(t, dir, "--store", store)
	old := running.token()
	other := serve(t, t.TempDir(), "--store", store, "--new-token")
	if said := other.log.String(); !strings.Contains(said, "other running services of this store within seconds") {
		t.Errorf("said of the new token:\n%s", said)
	}
	fresh := other.token()
	running.eventually("the new token is accepted", func() bool { return running.get("/api/v1/jobs", fresh) == 200 })
	running.eventually("the old token is refused", func() bool { return running.get("/api/v1/jobs", old) == 401 })
}
