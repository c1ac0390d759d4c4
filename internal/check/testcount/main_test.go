package main

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	const (
		aRun  = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n"
		aSays = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: wrong\n"}` + "\n"
		aPass = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}` + "\n"
		aFail = `{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.1}` + "\n"
		aSkip = `{"Action":"skip","Package":"p","Test":"TestA"}` + "\n"
		pPass = `{"Action":"pass","Package":"p","Elapsed":1.5}` + "\n"
		pFail = `{"Action":"fail","Package":"p","Elapsed":1.5}` + "\n"
	)
	cases := []struct {
		title, in, last, shows string
		status                 int
	}{
		{"a test that passes", aRun + aSays + aPass + pPass, "1 passed, 0 failed", "ok       1.50s  p", 0},
		{"a test that fails is shown in full", aRun + aSays + aFail + pFail, "0 passed, 1 failed", "--- FAILED: p TestA\n    a_test.go:7: wrong", 1},
		{"a skip is no success", aRun + aSays + aSkip + pPass, "0 passed, 0 failed, 1 skipped", "--- SKIPPED: p TestA", 1},
		{"nothing at all is no success", "", "0 passed, 0 failed", "", 1},
		{"a package without tests adds nothing", aRun + aPass + pPass + `{"Action":"skip","Package":"q"}` + "\n", "1 passed, 0 failed", "q has no tests", 0},
		{"a build that fails is one failure with the compiler's words",
			`{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}` + "\n" +
				`{"ImportPath":"q","Action":"build-fail"}` + "\n" +
				`{"Action":"fail","Package":"q","FailedBuild":"q"}` + "\n" + aRun + aPass + pPass,
			"1 passed, 1 failed", "q.go:1: no", 1},
		{"a process that dies fails the tests that were running",
			aRun + `{"Action":"output","Package":"p","Output":"panic: boom\n"}` + "\n" + pFail,
			"0 passed, 1 failed", "panic: boom", 1},
		{"an output that breaks off fails what was running", aRun + aSays, "0 passed, 1 failed", "--- NEVER ENDED: p TestA", 1},
		{"a package that fails after its tests passed is one failure", aRun + aPass + pFail, "1 passed, 1 failed", "FAIL     1.50s  p", 1},
		{"lines without JSON are passed on", "go: no such tool\n" + aRun + aPass + pPass, "1 passed, 0 failed", "go: no such tool", 0},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			var out strings.Builder
			status := run(nil, strings.NewReader(c.in), &out)
			text := strings.TrimSuffix(out.String(), "\n")
			if last := text[strings.LastIndex(text, "\n")+1:]; last != c.last {
				t.Errorf("last line %q, want %q", last, c.last)
			}
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if !strings.Contains(text, c.shows) {
				t.Errorf("printed\n%s\nwithout %q", text, c.shows)
			}
		})
	}
}

func TestStepsThatFailedBeforeCount(t *testing.T) {
	in := `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
	var out strings.Builder
	if status := run([]string{"lint"}, strings.NewReader(in), &out); status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	want := "--- FAILED: step \"lint\", see above\n1 passed, 1 failed\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestTheStoresThatWereTriedAreNamed(t *testing.T) {
	in := `{"Action":"pass","Package":"m/jobstore/memory","Test":"TestLaws/Claim/once"}
{"Action":"fail","Package":"m/jobstore/memory","Test":"TestLaws/Claim/order"}
{"Action":"run","Package":"m/jobstore/memory","Test":"TestLaws/Claim/late"}
{"Action":"attr","Package":"m/jobstore/postgres","Test":"TestLaws","Key":"server","Value":"postgres 15.18 at 127.0.0.1:40123, private"}
{"Action":"attr","Package":"m/jobstore/postgres","Test":"TestLaws","Key":"other","Value":"x"}
{"Action":"pass","Package":"m/jobstore/postgres","Test":"TestLaws/Claim/once"}
{"Action":"pass","Package":"m/jobstore/postgres","Test":"TestLawsElsewhere/Claim/once"}
{"Action":"pass","Package":"m/jobstore/sqlite","Test":"TestOther"}
{"Action":"pass","Package":"m/jobstore/internal/sqlstore","Test":"TestLaws/x"}
`
	var out strings.Builder
	run(nil, strings.NewReader(in), &out)
	want := "\nstores tried: memory by 2 laws, postgres by 1 laws (postgres 15.18 at 127.0.0.1:40123, private)\n5 passed, 2 failed\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("printed\n%s\nwithout the end\n%s", out.String(), want)
	}
}
