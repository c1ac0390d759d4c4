//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ruqi-dev/ruqi/cli"
	"github.com/ruqi-dev/ruqi/wire"
)

// A request for each job would be most of the work.
func TestImportsGoInByBatches(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	var jobs, table strings.Builder
	for i := range 250 {
		fmt.Fprintf(&jobs, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: job-%d}\nspec:\n  schedule: '%d 1 * * *'\n  jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, command: ['true']}]}}}}\n---\n", i, i%60)
		fmt.Fprintf(&table, "%d 1 * * * run --part %d\n", i%60, i)
	}
	for _, args := range [][]string{{"k8s", tableOf(t, "jobs.yaml", jobs.String())}, {"crontab", tableOf(t, "site", table.String())}} {
		var writes atomic.Int64
		through := s.between(func(_ http.ResponseWriter, r *http.Request) bool {
			if isWrite(r) {
				writes.Add(1)
			}
			return false
		})
		for _, word := range []string{"created ", "unchanged "} {
			got := through(append([]string{"import"}, args...)...)
			if n := strings.Count(got.out, word); got.status != 0 || args[0] == "k8s" && n != 250 || args[0] == "crontab" && !strings.Contains(got.out, "250 "+strings.TrimSpace(word)) {
				t.Errorf("%s: %d %s: exit %d: %.300s", args[0], n, word, got.status, got.errors)
			}
		}
		if n := writes.Load(); n != 6 {
			t.Errorf("%s: %d requests for 250 jobs, twice", args[0], n)
		}
		fails := s.between(func(w http.ResponseWriter, r *http.Request) bool {
			if isWrite(r) {
				http.Error(w, "no", http.StatusInternalServerError)
			}
			return isWrite(r)
		})
		if got := fails(append([]string{"import"}, args...)...); got.status != 1 || strings.Contains(got.out, "created ") || !strings.Contains(got.out+got.errors, "250 jobs: 0 created, 0 changed, 0 unchanged, 250 not known to be in (import again: ") {
			t.Errorf("%s, of a service that fails: %+v", args[0], got)
		}
	}
}

// What the service has done is told, also of the jobs after one at which it failed.
func TestAnImportTellsWhatWasAddedBesideAFailure(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	var jobs, table strings.Builder
	for i := range 4 {
		fmt.Fprintf(&jobs, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: job-%d}\nspec:\n  schedule: '%d 1 * * *'\n  jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, command: ['true']}]}}}}\n---\n", i, i)
		fmt.Fprintf(&table, "%d 1 * * * run --part %d\n", i, i)
	}
	for _, args := range [][]string{{"k8s", tableOf(t, "jobs.yaml", jobs.String())}, {"crontab", tableOf(t, "site", table.String())}} {
		through := s.between(func(w http.ResponseWriter, r *http.Request) bool {
			if !isWrite(r) {
				return false
			}
			request, err := http.NewRequestWithContext(r.Context(), r.Method, s.url+r.URL.RequestURI(), r.Body)
			if err != nil {
				t.Error(err)
				return false
			}
			request.Header = r.Header.Clone()
			request.Header.Del("Accept-Encoding")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return false
			}
			defer answer.Body.Close()
			var body struct {
				Items []json.RawMessage `json:"items"`
			}
			if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || len(body.Items) != 4 {
				t.Errorf("%d items, %v", len(body.Items), err)
				return false
			}
			body.Items[1] = json.RawMessage(`{"problem":{"type":"about:blank","title":"Internal","status":500,"code":"internal","detail":"the disk is full"}}`)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(wire.APIHeader, wire.APIVersion)
			_ = json.NewEncoder(w).Encode(body)
			return true
		})
		got := through(append([]string{"import"}, args...)...)
		if n := strings.Count(got.out+got.errors, "created"); got.status != 1 || n != 3+1 || !strings.Contains(got.errors, "the disk is full") {
			t.Errorf("%s: %d told of three: exit %d: %s%s", args[0], n, got.status, got.out, got.errors)
		}
		if want := "4 jobs: 3 created, 0 changed, 0 unchanged, 1 not known to be in (import again: what is in is not added twice)"; !strings.Contains(got.out+got.errors, want) {
			t.Errorf("%s: how many went in is not told: %s%s", args[0], got.out, got.errors)
		}
	}
}

// A service that is gone after some of the batches leaves those in that it has answered for.
func TestAnImportThatIsCutOffTellsHowManyWentIn(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	var jobs, table strings.Builder
	jobs.WriteString("kind: CronJob\nmetadata: {name: empty}\n---\n")
	table.WriteString("0 25 * * * never\n")
	for i := range 250 {
		fmt.Fprintf(&jobs, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: job-%d}\nspec:\n  schedule: '%d 1 * * *'\n  jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, command: ['true']}]}}}}\n---\n", i, i%60)
		fmt.Fprintf(&table, "%d 1 * * * run --part %d\n", i%60, i)
	}
	for _, args := range [][]string{{"k8s", tableOf(t, "jobs.yaml", jobs.String())}, {"crontab", tableOf(t, "site", table.String())}, {"crontab", tableOf(t, "other", table.String()), "-o", "json"}} {
		var writes atomic.Int64
		cut := s.between(func(_ http.ResponseWriter, r *http.Request) bool {
			if isWrite(r) && writes.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		})
		got := cut(append([]string{"import"}, args...)...)
		in := strings.Count("\n"+got.out, "\ncreated ")
		if len(args) > 2 {
			in = strings.Count(got.out, `"created_at"`)
		}
		left := "; 1 line not taken"
		if args[0] == "k8s" {
			left = "" // the CronJob has been named
		}
		want := fmt.Sprintf("250 jobs: %d created, 0 changed, 0 unchanged, %d not known to be in (import again: what is in is not added twice)%s\n", in, 250-in, left)
		if got.status != 5 || in == 0 || in == 250 || !strings.Contains(got.out+got.errors, want) {
			t.Errorf("%s: exit %d, %d in, want %q: %.2000s%.2000s", args[0], got.status, in, want, got.out, got.errors)
		}
	}
}

// Two files of one name would make one table of two: the jobs of the one take the places of those of the other.
func TestATableDoesNotTakeTheJobsOfAnother(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	one, two := tableOf(t, "site", "0 1 * * * backup one\n"), tableOf(t, "site", "0 1 * * * backup two\n0 2 * * * other\n")
	s.ok("import", "crontab", one)
	got := s.ruqi("import", "crontab", two)
	if got.status != 1 || !strings.Contains(got.errors, two+": not taken: the job site/backup came from "+one+"; --prefix") || !strings.Contains(got.out, "0 jobs: 0 created, 0 changed, 0 unchanged; 2 lines not taken") {
		t.Errorf("exit %d: %s%s", got.status, got.out, got.errors)
	}
	if strings.Contains(got.errors, "is not taken from it now") {
		t.Errorf("what is another's is missed: %s", got.errors)
	}
	if job := s.ok("job", "get", "site/backup"); !strings.Contains(job, "backup one") || len(s.versions()) != 1 {
		t.Errorf("%v\n%s", s.versions(), job)
	}
	if got := s.ok("import", "crontab", one); !strings.Contains(got, "1 unchanged") {
		t.Errorf("the first again: %s", got)
	}
	if got := s.ok("import", "crontab", two, "--prefix", "b/"); !strings.Contains(got, "2 created") {
		t.Errorf("with a prefix: %s", got)
	}
	if got := s.ok("import", "crontab", two, "--take-over"); !strings.Contains(got, "1 created, 1 changed") {
		t.Errorf("taken over: %s", got)
	}
	if got := s.ok("import", "crontab", two); !strings.Contains(got, "2 unchanged") {
		t.Errorf("its own now: %s", got)
	}
	// However it is named it is the same file, and what was imported by a release that knew no places is taken.
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, two)
	if err != nil {
		t.Fatal(err)
	}
	s.ok("job", "modify", "site/other", "--label", "crontab.path-")
	if got := s.ok("import", "crontab", relative); !strings.Contains(got, "1 changed, 1 unchanged") {
		t.Errorf("by another name: %s", got)
	}
	// Standard input is somebody's.
	input := func(args ...string) command {
		return run(t, map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": s.dir}, "0 1 * * * x\n", append([]string{"import", "crontab", "-"}, args...)...)
	}
	for range 2 {
		if got := input(); got.status != 0 {
			t.Errorf("standard input: %+v", got)
		}
	}
	if got := s.ruqi("import", "crontab", tableOf(t, "crontab", "0 1 * * * x\n")); got.status != 1 || !strings.Contains(got.errors, "came from standard input of ") {
		t.Errorf("a file in its place: %+v", got)
	}
}

// A full disk is no failure of the service: which jobs are in is known.
func TestAnImportWhoseOutputIsNotTakenLeavesNothingUnknown(t *testing.T) {
	s := serve(t, t.TempDir(), "--store", "memory:")
	job := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '0 1 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, command: ['true']}]}}}}}\n"
	for _, args := range [][]string{{"k8s", tableOf(t, "jobs.yaml", job)}, {"crontab", tableOf(t, "site", "0 1 * * * true\n")}} {
		var errs bytes.Buffer
		status := cli.Run(t.Context(), append([]string{"import"}, args...), cli.System{
			Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &errs, Version: "test",
			Getenv: func(name string) string { return map[string]string{"RUQI_SERVER": s.url, "RUQI_DATA_DIR": s.dir}[name] },
		})
		if told := errs.String(); status != 1 || strings.Count(told, "no space left") != 1 || strings.Contains(told, "not known to be in") {
			t.Errorf("%s: exit %d: %s", args[0], status, told)
		}
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
