package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how the service and its store are", Args: exactly(),
		Long: "Shows how the service and its store are. The exit status is 0 when the service answers, also while its store does not: the line store\n" +
			"says so (with -o json: store.ok), and what only the store can tell is - (null).",
		RunE: a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
			status, err := c.Status(ctx)
			if err != nil {
				return err
			}
			if a.output == "json" {
				return a.printJSON(wire.FromStatus(status, time.Now()))
			}
			return a.printStatus(status)
		}),
	}
}

// commands is the kind of task that a service can be told not to run, and the pool of its slots; commandsOff is said in the place of these.
const (
	commands    = "command"
	commandsOff = "commands are off"
)

func (a *app) printStatus(s ruqi.Status) error {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	store := s.Store + ", answers"
	if s.StoreError != "" {
		store = s.Store + ", fails: " + s.StoreError
	}
	t := &table{}
	t.row("instance", s.Instance)
	t.row("state", s.State)
	t.row("version", s.Release)
	t.row("zone", s.Zone)
	t.row("zone data", s.Zones)
	t.row("store", store)
	t.row("last check", clock(seconds(s.CheckTime), zone))
	t.row("next wake-up", clock(seconds(s.NextWakeup), zone))
	jobs, runs := "-", "-"
	if wire.Counted(s) {
		jobs = fmt.Sprintf("%d active, %d paused, %d finished, %d parked", s.Jobs[ruqi.JobActive], s.Jobs[ruqi.JobPaused], s.Jobs[ruqi.JobFinished], s.Parked)
		runs = fmt.Sprintf("%d running, %d queued", s.Running, s.Queued)
	}
	t.row("jobs", jobs)
	t.row("runs", runs)
	var slots []string // a service that does not tell what it runs is of an older release
	for _, pool := range slices.Sorted(maps.Keys(s.Slots)) {
		use := fmt.Sprintf("%s %d of %d", pool, s.Slots[pool].Used, s.Slots[pool].Size)
		if pool == commands && s.Slots[pool].Used == 0 && s.Needs != nil && !slices.Contains(s.Needs, commands) {
			use = commandsOff
		}
		slots = append(slots, use)
	}
	t.row("slots in use", strings.Join(slots, ", "))
	return a.printTable(t)
}

func (a *app) wakeupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "wakeup", Short: "Make the service look for due jobs now", Args: exactly(),
		RunE: a.withClient(func(ctx context.Context, c *client.Client, _ []string) error { return c.Wakeup(ctx) }),
	}
}
