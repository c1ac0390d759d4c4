package ruqi_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestEveryRunBeginsWhileOthersGoOn(t *testing.T) {
	const jobs = 60 // due together, so that one claim starts them all
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{Slots: map[string]int{"default": jobs}})
		var begun sync.WaitGroup
		begun.Add(jobs)
		for i := range jobs {
			task := func(context.Context) error {
				begun.Done()
				switch i % 3 {
				case 0: // a goroutine that dies
					runtime.Goexit()
				case 1: // one that goes on to the next run at once
				default:
					begun.Wait() // one that is held up until all have begun
				}
				return nil
			}
			w.add(ruqi.JobSpec{ID: fmt.Sprint("job-", i), Trigger: trigger.Date(time.Now().Add(time.Second)), Task: ruqi.Do(task)})
		}
		w.start()
		defer w.stop()
		time.Sleep(5 * time.Second)
		for i := range jobs {
			want := ruqi.RunSucceeded
			if i%3 == 0 {
				want = ruqi.RunFailed
			}
			all := runs(t, w.s, fmt.Sprint("job-", i))
			if len(all) != 1 || all[0].State != want {
				t.Fatalf("job %d has %v, want one run %s", i, states(all), want)
			}
		}
	})
}

func TestOutputIsSeenAfterALongRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		task := func(ctx context.Context) error {
			time.Sleep(5 * time.Second)
			fmt.Fprint(ruqi.Output(ctx), "written late")
			return sleeping(10 * time.Second)(ctx)
		}
		w.add(ruqi.JobSpec{ID: "rare", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Do(task)})
		w.start()
		defer w.stop()
		time.Sleep(7 * time.Second)
		for range 3 { // between the runs nothing runs, and nobody looks for output
			time.Sleep(time.Hour)
			all := runs(t, w.s, "rare")
			last := all[len(all)-1]
			if last.State != ruqi.RunRunning || last.OutputBytes == 0 {
				t.Fatalf("2 s after it was written the output of a run that is %s has %d bytes in the store", last.State, last.OutputBytes)
			}
		}
	})
}
