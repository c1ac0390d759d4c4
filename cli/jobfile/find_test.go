package jobfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/jobfile"
)

// tree makes files below a new folder, with that folder as the working directory; "a -> b" is a link.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		err := os.MkdirAll(filepath.Dir(link), 0o700)
		if err == nil && isLink {
			err = os.Symlink(target, link)
		} else if err == nil {
			err = os.WriteFile(link, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesOfFoldersAreFoundInOrder(t *testing.T) {
	tree(t, "jobs/b.yaml", "jobs/a.yml", "jobs/a/z.yaml", "jobs/.hidden.yaml", "jobs/.git/x.yaml", "jobs/readme.md", "jobs/x.yaml.bak", "other.txt",
		"jobs/loop -> ..", "jobs/self -> self", "jobs/c.yaml -> ../linked/real.yaml", "jobs/more -> ../linked", "linked/real.yaml", "linked/back -> ../jobs", "empty/none.txt")
	for _, c := range []struct{ paths, want string }{
		{"jobs", "jobs/a/z.yaml jobs/a.yml jobs/b.yaml jobs/c.yaml"},
		{"jobs/b.yaml jobs", "jobs/b.yaml jobs/a/z.yaml jobs/a.yml jobs/c.yaml"},
		{"jobs jobs/a", "jobs/a/z.yaml jobs/a.yml jobs/b.yaml jobs/c.yaml"},
		{"jobs/a.yml jobs/../jobs/a.yml", "jobs/a.yml"},
		{"- other.txt -", "- other.txt"}, // what is named is read, however it is called
		{"jobs/.hidden.yaml", "jobs/.hidden.yaml"},
		{"jobs/.git", "jobs/.git/x.yaml"},
		{"linked", "linked/back/a/z.yaml linked/back/a.yml linked/back/b.yaml linked/back/c.yaml"},
	} {
		got, err := jobfile.Find(strings.Fields(c.paths))
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		if want := strings.Fields(c.want); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q, %v", c.paths, got, want, err)
		}
	}
}

func TestPathsThatLeadNowhereAreToldTogether(t *testing.T) {
	tree(t, "empty/none.txt", "jobs/gone.yaml -> nowhere", "jobs/gone.txt -> nowhere", "jobs/dir.yaml/x.txt")
	_, err := jobfile.Find([]string{"missing.yaml", "", "empty", "jobs"})
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{"missing.yaml: no such file", "PATH: empty", "empty: there is no job file (*.yaml, *.yml) in it", "gone.yaml: no such file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("told is:\n%v", err)
	}
}
