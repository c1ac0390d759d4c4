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
		ID: "hello", Trigger: trigger.Every(100 * time.Millisecond), Task: ruqi.Call("greet", Greeting{"world"}),
	}, ruqi.Replace)
	if err != nil {
		panic(err)
	}
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
	// Output: hello, world
}
