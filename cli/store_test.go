//go:build unix

package cli_test

import (
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// offline does a command line on the store in a data directory, without a service.
func offline(t *testing.T, dir string, args ...string) command {
	t.Helper()
	return run(t, map[string]string{"RUQI_DATA_DIR": dir}, "", args...)
}

// want compares what a command did.
func (c command) want(t *testing.T, what string, status int, out, errors string) {
	t.Helper()
	if c.status != status || c.out != out || !strings.Contains(c.errors, errors) || errors == "" && c.errors != "" {
		t.Errorf("%s: exit %d, %q, %q, want exit %d, %q, %q", what, c.status, c.out, c.errors, status, out, errors)
	}
}

func TestAStoreIsMadeAndFoundSound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "ruqi.db")
	offline(t, dir, "store", "status").want(t, "status of none", 0, "kind    sqlite\nstore   sqlite:"+path+"\nschema  none yet; ruqi store migrate, or a service that starts, makes schema 4\n", "")
	offline(t, dir, "store", "check").want(t, "check of none", 3, "", "there is no store at "+path+" yet: ruqi store migrate makes one")
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking made the data directory")
	}
	offline(t, dir, "store", "migrate").want(t, "first migrate", 0, "sqlite:"+path+": made with schema 4\n", "")
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data directory: %v, %v", info.Mode(), err)
	}
	offline(t, dir, "store", "migrate").want(t, "second migrate", 0, "sqlite:"+path+": already at 4\n", "")
	offline(t, dir, "store", "migrate", "-o", "json").want(t, "migrate as JSON", 0, fmt.Sprintf("{\n  \"store\": \"sqlite:%s\",\n  \"from\": 4,\n  \"to\": 4\n}\n", path), "")
	offline(t, dir, "store", "check").want(t, "check", 0, "sqlite:"+path+": no faults found\n", "")
	offline(t, dir, "store", "check", "-o", "json").want(t, "check as JSON", 0, fmt.Sprintf("{\n  \"store\": \"sqlite:%s\",\n  \"faults\": []\n}\n", path), "")
	for _, verb := range []string{"migrate", "status", "check"} {
		offline(t, dir, "store", verb, "--store", "memory:").want(t, verb+" of a store in memory", 2, "", "--store: memory: has no schema")
		run(t, map[string]string{"RUQI_STORE": "memory:"}, "", "store", verb, "--data-dir", dir).want(t, verb+" of a store in memory by the environment", 2, "", "RUQI_STORE: memory: has no schema")
		offline(t, dir, "store", verb, "x").want(t, verb+" of an argument", 2, "", "takes no arguments")
		offline(t, dir, "store", verb, "--store", "what:ever").want(t, verb+" of a kind that is none", 2, "", `--store: there is no store of the kind "what"`)
		offline(t, dir, "store", verb, "--store", "memory:x").want(t, verb+" of a store in memory with a path", 2, "", "--store: nothing follows memory:; accepted are memory:, ")
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database at all\n", 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"migrate", "status", "check"} {
		offline(t, dir, "store", verb, "--store", "sqlite:"+text).want(t, verb+" of a text", 1, "", "is not an SQLite database")
	}
}

func TestAnOlderStoreIsBroughtUpByMany(t *testing.T) {
	packed, err := os.Open("../jobstore/sqlite/testdata/schema1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }() // only read
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "old.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + path
	if got := offline(t, dir, "store", "status", "--store", store); got.status != 0 || !strings.Contains(got.out, "schema  1; ruqi store migrate, or a service that starts, brings it up to 4\n") || strings.Contains(got.out, "jobs") {
		t.Errorf("status before: %+v", got)
	}
	offline(t, dir, "store", "check", "--store", store).want(t, "check before", 0, store+": no faults found\n", "")
	var wg sync.WaitGroup
	var said [8]command
	for i := range said {
		wg.Go(func() { said[i] = offline(t, dir, "store", "migrate", "--store", store) })
	}
	wg.Wait()
	brought := 0
	for _, got := range said {
		switch {
		case got == command{0, store + ": schema 1 → 4\n", ""}:
			brought++
		case got != command{0, store + ": already at 4\n", ""}:
			t.Errorf("migrate: %+v", got)
		}
	}
	if brought == 0 {
		t.Error("none of many says that it brought the store up")
	}
	got := offline(t, dir, "store", "status", "--store", store)
	for _, want := range []string{"schema     4, the newest that this release knows\n", "jobs       1 active, 1 paused, 1 finished\n", "runs       0 running, 0 queued\n", "instances  0 alive of 0\n", "size       "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("status after has no %q:\n%s", want, got.out)
		}
	}
}

// What only looks waits for nobody who writes.
func TestAStoreThatIsBeingWrittenIsLookedAt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if got := offline(t, dir, "store", "migrate"); got.status != 0 {
		t.Fatal(got)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "ruqi.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	writer, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	if _, err := writer.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if got := offline(t, dir, "store", "status"); got.status != 0 || !strings.Contains(got.out, "0 alive of 0") {
		t.Errorf("status: %+v", got)
	}
}

func TestAStoreIsLookedAfterWhileAServiceRuns(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--drain", "0")
	s.ok("job", "add", "often", "--every", "50ms", "--", "true")
	s.ok("job", "add", "long", "--every", "1h", "--", "sleep", "600")
	s.ok("job", "run", "long")
	var status struct {
		Kind      string
		Schema    struct{ Has, Knows, Oldest int }
		Jobs      map[string]int
		Runs      map[string]int
		Instances struct{ Registered, Alive int }
		Bytes     int64
	}
	s.eventually("the long job runs", func() bool {
		if err := json.Unmarshal([]byte(s.ok("store", "status", "-o", "json")), &status); err != nil {
			t.Fatal(err)
		}
		return status.Runs["running"] > 0
	})
	if status.Kind != "sqlite" || status.Schema.Has != 4 || status.Schema.Oldest != 3 || status.Jobs["active"] != 2 || status.Instances.Registered != 1 || status.Instances.Alive != 1 || status.Bytes < 4096 {
		t.Errorf("status: %+v", status)
	}
	s.eventually("beside all that jobs run", func() bool {
		s.ok("store", "check")
		s.ok("store", "migrate")
		s.ok("store", "status")
		return strings.Count(s.ok("run", "list", "--job", "often", "--all"), "succeeded") > 5
	})
	s.signal(syscall.SIGTERM)
	s.wait()
	path := filepath.Join(dir, "ruqi.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	damaged := slices.Clone(data)
	for i := 2 * page; i < 12*page; i++ {
		damaged[i] = 0x5a
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := offline(t, dir, "store", "check"); got.status != 1 || !strings.Contains(got.out, "damage") || got.errors != "" {
		t.Errorf("check of a damaged file: %+v", got)
	}
	var found struct{ Faults []string }
	if got := offline(t, dir, "store", "check", "-o", "json"); got.status != 1 || json.Unmarshal([]byte(got.out), &found) != nil || len(found.Faults) == 0 {
		t.Errorf("check of a damaged file as JSON: %+v", got)
	}
}
