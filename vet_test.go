package ruqi_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

// guarded is an executor that takes no task any more, once it is closed.
type guarded struct {
	*command.Executor
	closed bool
	asked  int
}

func (g *guarded) Vet(ruqi.Task) error {
	g.asked++
	if g.closed {
		return ruqi.Invalid("/command", "", "not here")
	}
	return nil
}

func TestAnExecutorIsAskedAboutATaskThatIsNewToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, ruqi.Options{})
		g := &guarded{Executor: command.New(command.Options{})}
		registry := newRegistry()
		registry.RegisterExecutor(g)
		w.s = newScheduler(t, w.store, registry, ruqi.Options{})
		w.start()
		defer w.stop()
		spec := ruqi.JobSpec{ID: "a", Trigger: trigger.EveryDuration(time.Hour), Task: command.Shell("x")}
		refused := func(when string, err error) {
			t.Helper()
			var invalid *ruqi.InvalidError
			if !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/task/command" || invalid.Faults[0].Message != "not here" {
				t.Errorf("%s: %v", when, err)
			}
		}
		w.add(spec)
		g.closed = true
		_, _, err := w.s.AddJob(t.Context(), spec, ruqi.Replace)
		refused("replaced by the same", err)
		other := spec
		other.ID = "b"
		_, _, err = w.s.AddJob(t.Context(), other, ruqi.Fail)
		refused("added", err)
		modify := func(change func(job *ruqi.Job)) error {
			_, err := w.s.ModifyJob(t.Context(), "a", func(job *ruqi.Job) error { change(job); return nil })
			return err
		}
		refused("changed", modify(func(job *ruqi.Job) { job.Task = command.Shell("y") }))
		if err := modify(func(job *ruqi.Job) { job.Tags, job.Task = []string{"t"}, command.Shell("x") }); err != nil {
			t.Errorf("something else is changed: %v", err)
		}
		if job, err := w.s.Job(t.Context(), "a"); err != nil || job.Version != 2 || job.Task.String() != "x" || job.Parked != "" {
			t.Errorf("the job that was there is %+v, %v", job, err)
		}
		if g.asked != 4 {
			t.Errorf("it was asked %d times, want 4", g.asked)
		}
	})
}

// A task that is sent back as it was shown, without its secrets, is the task that is there: it is not judged anew by an instance that may
// not run it. One with another secret, or at another place, is.
func TestATaskThatIsSentBackAsShownIsNotJudgedAnew(t *testing.T) {
	store := memory.Open(memory.Options{})
	registry := func(o webhook.Options) *ruqi.Registry {
		r := newRegistry()
		r.RegisterExecutor(webhook.New(o))
		return r
	}
	free := newScheduler(t, store, registry(webhook.Options{}), ruqi.Options{Instance: "free"})
	bound := newScheduler(t, store, registry(webhook.Options{Guarded: true}), ruqi.Options{Instance: "bound"})
	hook := webhook.Request("", "http://user:secret@127.0.0.1:1/").WithHeader("Authorization", "Bearer abc")
	if _, _, err := free.AddJob(t.Context(), ruqi.JobSpec{ID: "j", Trigger: trigger.EveryDuration(time.Hour), Task: hook}, ruqi.Fail); err != nil {
		t.Fatal(err)
	}
	_, err := bound.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error {
		job.Description, job.Task = "changed", job.Task.(ruqi.Masker).Masked()
		return nil
	})
	if err != nil {
		t.Errorf("as it was shown: %v", err)
	}
	for what, task := range map[string]*webhook.Task{
		"another secret": hook.WithHeader("Authorization", "Bearer b"),
		"another path":   webhook.Request("", "http://user:"+ruqi.Mask+"@127.0.0.1:1/other").WithHeader("Authorization", ruqi.Mask),
	} {
		_, err := bound.ModifyJob(t.Context(), "j", func(job *ruqi.Job) error {
			job.Task = task
			return nil
		})
		if !errors.Is(err, ruqi.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
