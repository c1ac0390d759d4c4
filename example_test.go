package ruqi_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/trigger"
)

type Greeting struct {
	Name string `json:"name"`
}

func Example() {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	ruqi.Func(registry, "greet", func(ctx context.Context, g Greeting) error {
		fmt.Println("hello,", g.Name)
		return ruqi.Finish // once is enough; return nil to go on
	})
	s, err := ruqi.New(memory.Open(memory.Options{}), registry, ruqi.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _, err = s.AddJob(ctx, ruqi.JobSpec{
		ID: "hello", Trigger: trigger.EveryDuration(100 * time.Millisecond), Task: ruqi.Call("greet", Greeting{"world"}),
	}, ruqi.Replace)
	if err != nil {
		panic(err)
	}
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
	// Output: hello, world
}

// A run says how far it is while it runs, and leaves a result.
func ExampleSetResult() {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	gofunc.Register(registry)
	type Range struct{ First, Last int }
	ruqi.Func(registry, "sum", func(ctx context.Context, r Range) error {
		sum := 0
		for n := r.First; n <= r.Last; n++ {
			sum += n
			ruqi.Progress(ctx, float64(n-r.First+1)/float64(r.Last-r.First+1), fmt.Sprintf("added %d", n))
		}
		return ruqi.SetResult(ctx, map[string]int{"sum": sum})
	})
	s, err := ruqi.New(memory.Open(memory.Options{}), registry, ruqi.Options{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := s.Start(ctx); err != nil {
		panic(err)
	}
	defer func() { _ = s.Shutdown(ctx) }()
	_, _, err = s.AddJob(ctx, ruqi.JobSpec{ID: "sum", Trigger: trigger.EveryDuration(time.Hour), Task: ruqi.Call("sum", Range{1, 10})}, ruqi.Replace)
	if err != nil {
		panic(err)
	}
	run, err := s.RunNow(ctx, "sum", []byte(`{"Last": 100}`)) // over the job's own
	if err == nil {
		run, err = s.WaitRun(ctx, run.ID)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(run.State, string(run.Result), *run.Progress, run.ProgressText)
	// Output: succeeded {"sum":5050} 1 added 100
}
