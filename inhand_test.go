package ruqi

import (
	"sync"
	"testing"
)

// A run that goes from the active ones to those ending is in hand all the time.
func TestARunThatEndsIsInHandAllTheTime(t *testing.T) {
	s := &Scheduler{}
	s.runs.byID = map[int64]*activeRun{}
	s.runs.used = map[string]int{}
	s.finished.kicks = make(chan struct{}, 1)
	for id := range int64(5000) {
		a := &activeRun{s: s, run: &Run{ID: id}, spec: &JobSpec{Executor: "default"}}
		s.runs.add([]*activeRun{a})
		var group sync.WaitGroup
		begin := make(chan struct{})
		group.Go(func() { // as end does
			<-begin
			s.finished.add(a)
			s.runs.remove(a)
		})
		close(begin)
		for range 8 {
			if !s.inHand()[id] {
				t.Fatalf("run %d is in neither", id)
			}
		}
		group.Wait()
		if len(s.finished.take(1)) != 1 {
			t.Fatalf("run %d does not wait to be written", id)
		}
		s.finished.wrote()
	}
}
