package ruqi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// Whichever way a definition comes, and whatever kind its trigger is of.
func TestAnEndInThePastIsRefusedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		registry := newRegistry()
		ruqi.Func(registry, "f", func(context.Context, struct{}) error { return nil })
		w.s = newScheduler(t, w.store, registry, ruqi.Options{})
		parse := func(kind, text string, o trigger.ParseOptions) ruqi.Trigger {
			trig, err := trigger.Parse(kind, text, o)
			if err != nil {
				t.Fatalf("%s %q: %v", kind, text, err)
			}
			return trig
		}
		ended := map[string]ruqi.Trigger{}
		for _, text := range []string{
			"day", "day at 10:00", "5 to 10 minutes", "hour at :15", "3 days at 09:00", "minute at :30", "weekday", "90s", "2 weeks on monday at 9am",
			"month on the 15th at 9:00", "year on march 15",
		} {
			ended["every "+text] = parse("every", text+" until 1999-01-01", trigger.ParseOptions{})
			ended["every "+text+" with a zone"] = parse("every", text, trigger.ParseOptions{Zone: "Asia/Tokyo", End: "1999-01-01"})
		}
		end := trigger.ParseOptions{End: "1999-01-01 12:00"}
		ended["cron"], ended["@every"] = parse("cron", "* * * * *", end), parse("cron", "@every 5m", end)
		ended["interval"], ended["calendar"] = parse("interval", "5 minutes", end), parse("calendar", "months=1", end)
		ended["calendar with a start"] = parse("calendar", "days=1 start_date=1998-01-01 end_date=1999-01-01", trigger.ParseOptions{})
		ended["any"] = trigger.Any(ended["cron"], ended["interval"])
		ended["all"] = trigger.All(ended["cron"], parse("cron", "*/5 * * * *", trigger.ParseOptions{}))
		ended["date"] = parse("date", "1999-01-01", trigger.ParseOptions{})

		good := ruqi.JobSpec{ID: "good", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("f", nil)}
		w.add(good)
		for name, trig := range ended {
			grace := time.Hour
			for way, spec := range map[string]ruqi.JobSpec{
				"as it is":     {ID: "x", Trigger: trig, Task: good.Task},
				"paused":       {ID: "x", Trigger: trig, Task: good.Task, Paused: true},
				"with a grace": {ID: "x", Trigger: trig, Task: good.Task, Policy: ruqi.Policy{MisfireGrace: &grace}},
				"on a job":     {ID: "good", Trigger: trig, Task: good.Task},
			} {
				_, _, single := w.s.AddJob(t.Context(), spec, ruqi.Replace)
				_, _, rehearsed := w.s.RehearseJob(t.Context(), spec, ruqi.Replace)
				all, err := w.s.AddJobs(t.Context(), []ruqi.JobSpec{spec}, ruqi.Replace)
				if err != nil {
					t.Fatal(err)
				}
				for how, err := range map[string]error{"added": single, "rehearsed": rehearsed, "one of many": all[0].Err} {
					reason := strings.Contains(fmt.Sprint(err), "never fires: it has no fire time until its end, 199") || strings.Contains(fmt.Sprint(err), "has no fire time left: the last was 199")
					if !errors.Is(err, ruqi.ErrInvalid) || !reason {
						t.Errorf("%s, %s, %s: %v", name, way, how, err)
					}
				}
			}
		}
		if job, err := w.s.Job(t.Context(), "good"); err != nil || job.Version != 1 {
			t.Errorf("the job is now %+v, %v", job, err)
		}
	})
}
