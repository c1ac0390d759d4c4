package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestManyDefinitionsHaveAnAnswerEach(t *testing.T) {
	c := remote(t)
	definition := func(text string) json.RawMessage { return json.RawMessage(text) }
	const good = `{"id":"a","trigger":{"kind":"cron","expr":"0 3 29 2 *","zone":"UTC"},"task":{"kind":"func","name":"greet","args":{"Name":"you"}}}`
	for _, c2 := range []struct {
		how     ruqi.OnConflict
		added   ruqi.Added
		changed bool
		err     error
	}{
		{ruqi.Fail, ruqi.Created, true, nil}, {ruqi.Fail, "", false, ruqi.ErrExists}, {ruqi.Replace, ruqi.Replaced, false, nil}, {ruqi.Keep, ruqi.Kept, false, nil},
	} {
		all, err := c.AddDefinitions(t.Context(), []json.RawMessage{definition(good), definition(`{"id":"b","trigger":{"kind":"x"}}`)}, c2.how)
		if err != nil || len(all) != 2 {
			t.Fatalf("%s: %d answers, %v", c2.how, len(all), err)
		}
		if got := all[0]; got.Added != c2.added || got.Changed != c2.changed || !errors.Is(got.Err, c2.err) || c2.err == nil && (got.Job.ID != "a" || got.Job.Version != 1) {
			t.Errorf("%s: %+v", c2.how, got)
		}
		var invalid *ruqi.InvalidError
		if !errors.As(all[1].Err, &invalid) || len(invalid.Faults) == 0 {
			t.Errorf("%s: what is wrong with the second is told as %v", c2.how, all[1].Err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(wire.APIHeader, wire.APIVersion)
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	defer server.Close()
	short, err := client.New(server.URL, token, newRegistry(anywhere{}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	if _, err := short.AddDefinitions(t.Context(), []json.RawMessage{definition(good)}, ruqi.Fail); err == nil {
		t.Error("an answer for fewer jobs than were sent is taken")
	}
}
