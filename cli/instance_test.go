//go:build unix

package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInstancesThatShareAFileAreListed(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "shared.db")
	one := serve(t, filepath.Join(dir, "one"), "--store", store, "--lease", "3s", "--slots", "command=3")
	two := serve(t, filepath.Join(dir, "one"), "--store", store, "--lease", "3s", "--slots", "command=5")
	type list struct {
		Now   string `json:"now"`
		Total int    `json:"total"`
		Items []struct {
			ID     string         `json:"id"`
			State  string         `json:"state"`
			Slots  map[string]int `json:"slots"`
			Offset *int64         `json:"clock_offset_ms"`
		} `json:"items"`
	}
	read := func(s *service) (l list) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.ok("instance", "list", "-o", "json")), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	one.eventually("both have measured their clocks", func() bool {
		l := read(one)
		return l.Total == 2 && l.Now != "" && l.Items[0].Offset != nil && l.Items[1].Offset != nil
	})
	ids := map[int]string{}
	for _, i := range read(two).Items {
		ids[i.Slots["command"]] = i.ID
		if i.State != "running" || *i.Offset > 1000 || *i.Offset < -1000 {
			t.Errorf("on one host: %+v", i)
		}
	}
	if ids[3] == "" || ids[5] == "" || ids[3] == ids[5] {
		t.Errorf("instances by the size of a pool: %v", ids)
	}
	table := one.ok("instances", "ls")
	for _, want := range []string{"HEARTBEAT", "LEASE LEFT", ids[3], ids[5], "command 3, default 64", "command 5, default 64", "s ago", " ms\n", "running"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	if err := two.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	one.eventually("the one that was killed is not shown as running", func() bool {
		table = one.ok("instance", "list")
		line := table[strings.Index(table+ids[5], ids[5]):]
		line, _, _ = strings.Cut(line, "\n")
		return line == "" || strings.Contains(line, "lost")
	})
	if !strings.Contains(table, ids[3]) {
		t.Errorf("the one that lives is gone:\n%s", table)
	}
	one.fails(2, "takes no arguments", "instance", "list", "x")
}
