// Package ruqi schedules jobs: a library that a program embeds, and the engine of the service of the
// same name.
//
// A job is a definition: a Trigger says when, a Task says what, a Policy says what happens when
// things do not go by the clock. A JobStore keeps jobs and their history; it is the truth, and several
// processes may share one. A Scheduler claims what is due from the store, has an Executor run it, and writes
// down how it ended. Each fire time of a job has exactly one outcome on record: a Run that was
// executed, or one that says why it was not.
//
//	registry := ruqi.NewRegistry()
//	trigger.Register(registry)
//	gofunc.Register(registry)
//	s, err := ruqi.New(memory.Open(memory.Options{}), registry, ruqi.Options{})
//	…
//	_, _, err = s.AddJob(ctx, ruqi.JobSpec{ID: "tick", Trigger: trigger.EveryDuration(time.Minute), Task: ruqi.Do(tick)}, ruqi.Replace)
//	…
//	err = s.Run(ctx)
//
// # Where to start reading
//
// The nouns are in job.go, run.go, event.go. The three interfaces to plug something in, with the laws that
// an implementation must keep, are in trigger.go, executor.go and jobstore.go; packages triggertest,
// executortest and jobstoretest hold an implementation to them.
//
// The decisions are pure functions: fires.go (which fires are due) and plan.go (what becomes of
// them); edit.go decides about changes of jobs. The loops only fetch, decide and write, one a file:
// claim.go, execute.go, output.go, finish.go, lease.go (heartbeat and rescue), replan.go (calendars that change), clean.go. scheduler.go starts
// and stops them. operations.go is what can be asked of a Scheduler, or of client.Client over HTTP.
package ruqi
