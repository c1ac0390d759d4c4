package kubernetes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/standard"
)

// said is what was read from a file, a line each: its jobs with their notes, what was passed over, and what was refused.
func said(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "styles", file))
	if err != nil {
		t.Fatal(err)
	}
	r, err := kubernetes.Read(file, data, kubernetes.Options{})
	if err != nil {
		return "error " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, job := range r.Jobs {
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(job.Definition); err != nil {
			t.Fatal(err)
		}
		delete(job.Definition, "state") // which is for adding alone
		spec, err := json.Marshal(job.Definition)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := standard.Registry(standard.Options{}).DecodeJob(spec); err != nil {
			t.Errorf("the definition %s is refused: %v", spec, err)
		}
		b.WriteString("job " + job.Where + " " + text.String())
		for _, note := range job.Notes {
			b.WriteString("  note " + note + "\n")
		}
	}
	for _, line := range r.Skipped {
		b.WriteString("skipped " + line + "\n")
	}
	for _, line := range r.Refused {
		b.WriteString("refused " + line + "\n")
	}
	return b.String()
}

// What manifests in the styles of many projects say, in testdata/styles.txt file by file.
func TestManifestsInManyStyles(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "styles"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "styles.txt"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{}
	for part := range strings.SplitSeq(string(text), "== ") {
		name, want, _ := strings.Cut(part, "\n")
		wanted[name] = want
	}
	for _, file := range files {
		t.Run(file.Name(), func(t *testing.T) {
			compare(t, "what is read", strings.Split(said(t, file.Name()), "\n"), strings.Split(wanted[file.Name()], "\n"))
		})
	}
}
