package postgres_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
)

// DB03: connections that the server, or a firewall, has ended while nobody used them are replaced unseen: the first step
// of each kind after it passes.
func TestConnectionsThatEndedWhileIdleAreReplaced(t *testing.T) {
	address := postgrestest.Shared(t).Database(t)
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	i, err := s.Beat(t.Context(), ruqi.Instance{Owner: ruqi.Owner{Instance: "a"}, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"heartbeat", func() error { _, err := s.Beat(t.Context(), i); return err }},
		{"look", func() error {
			_, err := s.Claim(t.Context(), ruqi.ClaimRequest{Owner: i.Owner, Slots: map[string]int{"default": 1}, Needs: []string{"x"}}, nil)
			return err
		}},
		{"page", func() error { _, err := s.Jobs(t.Context(), ruqi.JobQuery{}); return err }},
		{"add", func() error {
			_, _, err := s.EditJobs(t.Context(), ruqi.JobQuery{IDs: []string{"j"}}, func(time.Time, string, *ruqi.JobRecord, int) ruqi.Change {
				return ruqi.Change{Job: &ruqi.JobRecord{ID: "j", Name: "j", State: ruqi.JobPaused, Pool: "default", Needs: "x", MaxInstances: 1, Version: 1, Spec: []byte("{}")}}
			})
			return err
		}},
		{"append", func() error { _, err := s.Append(t.Context(), "log", []byte("x")); return err }},
	} {
		if n := terminate(t, address); n == 0 {
			t.Fatalf("no connection was there to end before the %s", step.name)
		}
		idle := time.NewTimer(1100 * time.Millisecond) // what has been used within a second is not looked at before it is used
		<-idle.C
		if err := step.do(); err != nil {
			t.Errorf("%s after the connections ended: %v", step.name, err)
		}
	}
}
