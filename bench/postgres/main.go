// Command postgres measures the PostgreSQL store and a cluster of instances on it: beside the floor of what they do
// (the same rows written by hand through the same driver) and beside river, a queue on the same server, in turns in
// one run, so that what else the machine does meets all. The server is a private one that waits for the disk.
//
//	go run ./postgres [-only idle,rate,burst,late,page,door] [-rounds 3] [-quick]
//
// Instances are processes of their own: this program, started again with -child.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

// plan is what is measured, and how long.
type plan struct {
	only   []string
	rounds int
	// jobs are those of rate, each of which runs passes times a round, crowd those that wait or are due in one second, history the runs of page and door.
	jobs, passes, crowd, history int
	// lead is the time between the arming of jobs and their being due.
	lead time.Duration
	// window is how long the quiet benches look.
	window time.Duration
	// slots are the runs that an instance holds at once.
	slots int
	// rows are the contenders of rate, by key; empty: all.
	rows []string
	// river's settings.
	river riverSettings
	// statements, if not 0, is how many of the server's statements that took most time are shown.
	statements int
	// profile is a folder for CPU profiles of the instances; empty: none are made.
	profile string
	server  settings
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var p plan
	var child, address, only, rows string
	var quick bool
	flags := flag.NewFlagSet("postgres", flag.ContinueOnError)
	flags.StringVar(&child, "child", "", "be an instance of this kind and obey standard input (the program starts itself so)")
	flags.StringVar(&address, "address", "", "address of the store of an instance")
	flags.StringVar(&only, "only", "idle,rate,burst,late,page,door", "what to measure")
	flags.BoolVar(&quick, "quick", false, "short runs, to see that all works")
	flags.IntVar(&p.rounds, "rounds", 3, "rounds")
	flags.IntVar(&p.jobs, "jobs", 15_000, "jobs of rate")
	flags.IntVar(&p.passes, "passes", 3, "runs of each of them a round")
	flags.IntVar(&p.crowd, "crowd", 100_000, "jobs of the store that is idle, all of which are then due in one second, and of door")
	flags.IntVar(&p.history, "history", 1_000_000, "runs of the stores whose pages are read")
	flags.DurationVar(&p.window, "window", 8*time.Second, "how long a round of idle and of late takes")
	flags.IntVar(&p.slots, "slots", 4*batch, "slots of an instance")
	flags.StringVar(&rows, "rows", "", "contenders of rate: floor, finding, one, three, three-in-one, sqlite, river, river-bare. Empty: all")
	flags.IntVar(&p.river.workers, "river-workers", 2000, "river's MaxWorkers")
	flags.DurationVar(&p.river.cooldown, "river-cooldown", time.Millisecond, "river's FetchCooldown and FetchPollInterval")
	flags.IntVar(&p.river.insert, "river-insert", 5000, "jobs of one of river's InsertManyFast")
	flags.BoolVar(&p.river.apart, "river-apart", true, "insert river's jobs before its client is started")
	flags.IntVar(&p.statements, "statements", 0, "show so many of the statements that took most of the server's time")
	flags.StringVar(&p.profile, "profile", "", "folder for CPU profiles of the instances")
	flags.Var(&p.server, "set", "a further setting of the server, NAME=VALUE; may be given again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if child != "" {
		return obey(ctx, child, address, &p, os.Stdin, out)
	}
	if quick {
		p.rounds, p.jobs, p.passes, p.crowd, p.history, p.window = min(p.rounds, 3), 5000, 1, 10_000, 50_000, 3*time.Second
	}
	p.only = strings.Split(only, ",")
	if rows != "" {
		p.rows = strings.Split(rows, ",")
	}
	return p.measure(ctx, out)
}

// measure runs the chosen benches on one server.
func (p *plan) measure(ctx context.Context, out io.Writer) (err error) {
	srv, err := startServer(ctx, p)
	if err != nil {
		return err
	}
	defer srv.stop()
	fmt.Fprintf(out, "%s, %d slots an instance.\n", srv.about, p.slots)
	for _, bench := range []struct {
		name string
		run  func(context.Context, io.Writer, *server) error
	}{{"idle", p.idle}, {"rate", p.rate}, {"burst", p.burst}, {"late", p.late}, {"page", p.page}, {"door", p.door}} {
		if !slices.Contains(p.only, bench.name) {
			continue
		}
		if err := bench.run(ctx, out, srv); err != nil {
			return fmt.Errorf("%s: %w", bench.name, err)
		}
	}
	if p.statements > 0 {
		return srv.reportStatements(ctx, out, p.statements)
	}
	return nil
}
