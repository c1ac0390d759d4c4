package zonetable_test

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/zonetable"
)

func TestNamesAreInOrderAndLoad(t *testing.T) {
	list := zonetable.Names()
	if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || len(list) < 500 {
		t.Errorf("%d names, in order and each once: %t", len(list), slices.IsSorted(list))
	}
	for _, name := range list {
		load(t, name)
	}
}

// A zone that a later release of Go brings is a line in the list.
func TestNamesAreThoseThatGoBrings(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var want []string
	for _, f := range file.File {
		if !f.FileInfo().IsDir() && f.Name != "Factory" {
			want = append(want, f.Name)
		}
	}
	slices.Sort(want)
	if list := zonetable.Names(); !slices.Equal(list, want) {
		t.Errorf("Go has %d names, the list %d", len(want), len(list))
		for _, name := range want {
			if !slices.Contains(list, name) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}
