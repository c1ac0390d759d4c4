package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// wrong are objects that no reader takes, with what all of them say of it, at pointers below the object.
var wrong = []struct {
	title string
	text  string // of the object; "…" stands for the members that it needs
	want  []string
}{
	{"a number in the place of an object", `5`, []string{": not a JSON object"}},
	{"a list in the place of an object", `[]`, []string{": not a JSON object"}},
	{"an unknown member", `{…,"a~b/c":1}`, []string{"/a~0b~1c: unknown member"}},
	{"members that stand twice, and are unknown", `{…,"x":1,"x":2}`, []string{"/x: given twice", "/x: unknown member"}},
	{"a name in another letter case", `{…,"KIND":"x"}`, []string{"/KIND: unknown member"}},
}

// told returns the faults of an error, without the lists of what is accepted.
func told(err error) []string {
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) {
		return nil
	}
	var all []string
	for _, f := range invalid.Faults {
		all = append(all, f.Pointer+": "+short(f.Message))
	}
	slices.Sort(all)
	return all
}

func short(message string) string {
	for _, word := range []string{"unknown member", "not a text"} {
		if strings.HasPrefix(message, word) {
			return word
		}
	}
	return message
}

// places are where an object is read, each with members that are right there.
var places = []struct {
	name, needed string
	read         func(s *service, object string) []string
}{
	{"DecodeJob", `"id":"x"`, func(s *service, object string) []string {
		_, err := s.options.Registry.DecodeJob([]byte(object))
		return told(err)
	}},
	{"a policy in DecodeJob", `"coalesce":true`, func(s *service, object string) []string {
		_, err := s.options.Registry.DecodeJob([]byte(`{"policy":` + object + `}`))
		return below("/policy", told(err))
	}},
	{"DecodeTrigger", `"kind":"cron","expr":"0 3 * * *"`, func(s *service, object string) []string {
		_, err := s.options.Registry.DecodeTrigger([]byte(object))
		return told(err)
	}},
	{"DecodeInterval", `"kind":"interval","every":"1h"`, func(_ *service, object string) []string {
		_, err := trigger.DecodeInterval([]byte(object))
		return told(err)
	}},
	{"DecodeTask", `"kind":"command","command":"x"`, func(s *service, object string) []string {
		_, err := s.options.Registry.DecodeTask([]byte(object))
		return told(err)
	}},
	{"the trigger of a preview", `"kind":"cron","expr":"0 3 * * *"`, func(s *service, object string) []string {
		return below("/trigger", s.faults("/api/v1/triggers/preview", `{"trigger":`+object+`}`, http.StatusUnprocessableEntity))
	}},
	{"a preview", `"trigger":{"kind":"cron","expr":"0 3 * * *"}`, func(s *service, object string) []string {
		if object[0] != '{' {
			return s.faults("/api/v1/triggers/preview", object, http.StatusBadRequest)
		}
		return s.faults("/api/v1/triggers/preview", object, http.StatusUnprocessableEntity)
	}},
	{"a new job", `"trigger":{"kind":"cron","expr":"0 3 * * *"},"task":{"kind":"command","command":"x"}`, func(s *service, object string) []string {
		if object[0] != '{' {
			return s.faults("/api/v1/jobs", object, http.StatusBadRequest)
		}
		return s.faults("/api/v1/jobs", object, http.StatusUnprocessableEntity)
	}},
}

// faults posts a body that is to be refused and returns what is told of it.
func (s *service) faults(path, body string, status int) []string {
	s.t.Helper()
	got := s.want(status, "POST", path, body)
	var problem struct {
		Detail string
		Errors []struct{ Pointer, Message string }
	}
	if err := json.Unmarshal([]byte(got.text), &problem); err != nil {
		s.t.Fatal(err)
	}
	if len(problem.Errors) == 0 {
		return []string{": " + problem.Detail}
	}
	var all []string
	for _, f := range problem.Errors {
		all = append(all, f.Pointer+": "+short(f.Message))
	}
	slices.Sort(all)
	return all
}

func below(pointer string, faults []string) []string {
	all := make([]string, len(faults))
	for i, fault := range faults {
		all[i] = strings.TrimPrefix(fault, pointer)
	}
	return all
}

func TestObjectsAreRefusedInTheSameWordsEverywhere(t *testing.T) {
	s := serve(t)
	for _, place := range places {
		for _, c := range wrong {
			if got := place.read(s, strings.Replace(c.text, "…", place.needed, 1)); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", place.name, c.title, got, c.want)
			}
		}
	}
}

// Wherever in a definition a member stands twice, it is found.
func TestWhatStandsTwiceIsRefusedAtEveryDepth(t *testing.T) {
	s := serve(t)
	const head = `{"trigger":{"kind":"cron","expr":"0 3 * * *"},"task":{"kind":"command","command":"x"}`
	for text, want := range map[string][]string{
		head + `,"id":"a","id":"b"}`:                        {"/id: given twice"},
		head + `,"state":"paused","state":"active"}`:        {"/state: given twice"},
		head + `,"policy":{"jitter":"1s","jitter":"2s"}}`:   {"/policy/jitter: given twice"},
		head + `,"labels":{"a/b":"1","a/b":"2"}}`:           {"/labels/a~1b: given twice"},
		head + `,"params":{"a":1,"a":2}}`:                   {"/params/a: given twice"},
		head + `,"params":{"a":{"b":[0,{"c~":1,"c~":2}]}}}`: {"/params/a/b/1/c~0: given twice"},
		`{"trigger":{"kind":"cron","expr":"0 3 * * *","kind":"date"},"task":{"kind":"command","command":"x"}}`:           {"/trigger/kind: given twice"},
		`{"trigger":{"kind":"date","at":"2040-01-01","zone":null,"zone":"UTC"},"task":{"kind":"command","command":"x"}}`: {"/trigger/zone: given twice"},
		`{"trigger":{"kind":"cron","expr":"0 3 * * *"},"task":{"kind":"command","command":"x","env":{"A":"1","A":"2"}}}`: {"/task/env/A: given twice"},
	} {
		if got := s.faults("/api/v1/jobs", text, http.StatusUnprocessableEntity); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestWrongTypesAreToldInTheSameWordsEverywhere(t *testing.T) {
	s := serve(t)
	registry := s.options.Registry
	for title, c := range map[string]struct {
		err  func() error
		want []string
	}{
		"a job": {func() error {
			_, err := registry.DecodeJob([]byte(`{"id":1,"priority":1.5,"tags":[1],"labels":{"a":null},"policy":{"coalesce":0,"timeout":5}}`))
			return err
		}, []string{"/id: not a text", "/labels/a: not a text", "/policy/coalesce: not true or false", "/policy/timeout: not a text",
			"/priority: not a whole number", "/tags/0: not a text"}},
		"a trigger": {func() error {
			_, err := registry.DecodeTrigger([]byte(`{"kind":"cron","expr":5,"zone":[]}`))
			return err
		}, []string{"/expr: not a text", "/zone: not a text"}},
		"a task": {func() error {
			_, err := registry.DecodeTask([]byte(`{"kind":"command","argv":[1],"env":{"A":1},"dir":{}}`))
			return err
		}, []string{"/argv/0: not a text", "/dir: not a text", "/env/A: not a text"}},
		"a kind": {func() error {
			_, err := registry.DecodeTask([]byte(`{"kind":1}`))
			return err
		}, []string{"/kind: not a text"}},
	} {
		if got := told(c.err()); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", title, got, c.want)
		}
	}
	for _, text := range []string{"\xff", "{\"name\":\"\xff\"}", `{"name":"\ud800"}`, "{} {}", "{", ""} {
		s.want(http.StatusBadRequest, "POST", "/api/v1/jobs", text)
		s.want(http.StatusBadRequest, "POST", "/api/v1/triggers/preview", text)
	}
}
