//go:build linux

package fieldcase_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/trigger"
)

// LK05: a hundred jobs in the same second on one file, whose runs two processes write while twenty readers page through it, are a
// hundred rows; nobody is told that the database is locked.
func TestOneFileForManyWritersAndReaders(t *testing.T) {
	const jobs, readers = 100, 20
	s := serve(t)
	store, err := standard.OpenStore(t.Context(), "sqlite:"+filepath.Join(s.dir, "ruqi.db"), standard.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Jobs.Close(); err != nil {
			t.Error(err)
		}
	})
	second, err := ruqi.New(store.Jobs, standard.Registry(standard.Options{}), ruqi.Options{Instance: "second", Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	moment := time.Now().Add(3 * time.Second)
	for i := range jobs {
		s.add(fmt.Sprintf("j%02d", i), trigger.Date(moment), command.Argv("true"), ruqi.Policy{})
	}
	read, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	for i := range readers {
		from := []ruqi.Operations{s, second}[i%2]
		group.Go(func() {
			for read.Err() == nil {
				if _, err := from.Runs(t.Context(), ruqi.RunQuery{Limit: 20}); err != nil {
					t.Error(err)
					return
				}
				if _, err := from.Jobs(t.Context(), ruqi.JobQuery{Sort: ruqi.SortNext, Limit: 20}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var rows []ruqi.Run
	s.eventually("all to have run", func() bool {
		page, err := s.Runs(t.Context(), ruqi.RunQuery{States: []ruqi.RunState{ruqi.RunSucceeded}, Limit: ruqi.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		rows = page.Runs
		return len(rows) >= jobs
	})
	page, err := s.Runs(t.Context(), ruqi.RunQuery{Limit: ruqi.MaxPage})
	if err != nil || len(page.Runs) != jobs {
		t.Errorf("%d rows, %v", len(page.Runs), err)
	}
	by := map[string]int{}
	for _, run := range rows {
		by[run.Owner.Instance]++
	}
	if len(by) != 2 {
		t.Errorf("the runs were of %v", by)
	}
}
