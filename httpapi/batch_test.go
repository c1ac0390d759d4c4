package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestManyJobsAreAddedInOneRequest(t *testing.T) {
	s := serve(t)
	const path = "/api/v1/job-batches"
	job := func(id, every string) string {
		return fmt.Sprintf(`{"id":%q,"trigger":{"kind":"interval","every":%q},"task":{"kind":"command","command":"true"}}`, id, every)
	}
	type item struct {
		added   any
		changed bool
		status  float64 // of the problem
	}
	items := func(a answer) (list []item) {
		for _, i := range a.json(t)["items"].([]any) {
			m := i.(map[string]any)
			one := item{added: m["added"], changed: m["changed"].(bool)}
			if problem, ok := m["problem"].(map[string]any); ok {
				one.status = problem["status"].(float64)
			}
			list = append(list, one)
		}
		return list
	}
	body := `{"jobs":[` + job("a", "1h") + "," + job("b", "soon") + `,{"id":"c","x":1},7,` + job("d", "1h") + `]}`
	for _, c := range []struct{ query, want string }{
		{"", `[{created true 0} {<nil> false 422} {<nil> false 422} {<nil> false 400} {created true 0}]`},
		{"", `[{<nil> false 409} {<nil> false 422} {<nil> false 422} {<nil> false 400} {<nil> false 409}]`},
		{"?on_conflict=keep", `[{kept false 0} {<nil> false 422} {<nil> false 422} {<nil> false 400} {kept false 0}]`},
		{"?on_conflict=replace", `[{replaced false 0} {<nil> false 422} {<nil> false 422} {<nil> false 400} {replaced false 0}]`},
	} {
		if got := fmt.Sprint(items(s.want(http.StatusOK, "POST", path+c.query, body))); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	if text := s.want(http.StatusOK, "GET", "/api/v1/jobs/d", "").text; !strings.Contains(text, `"every":"1h"`) {
		t.Error(text)
	}
	for body, want := range map[string]string{
		`{}`: "missing", `{"jobs":1}`: "a list of jobs", `{"jobs":[],"x":1}`: "x", `{"jobs":[` + strings.TrimSuffix(strings.Repeat("1,", 501), ",") + `]}`: "at most 500",
	} {
		if a := s.want(http.StatusUnprocessableEntity, "POST", path, body); !strings.Contains(a.text, want) {
			t.Errorf("%.40s: %s", body, a.text)
		}
	}
	s.want(http.StatusBadRequest, "POST", path, `[`)
	s.want(http.StatusBadRequest, "POST", path+"?on_conflict=perhaps", `{"jobs":[]}`)
}
