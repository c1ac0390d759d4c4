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

func (a *app) instanceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "instance", Aliases: []string{"instances"}, Short: "See the instances that share the store"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List instances", Args: exactly(),
		Long: "Lists the instances that share the service's store. One whose lease has ended is lost: it has died, or cannot reach the store, and\n" +
			"its runs go to the others. CLOCK is how far an instance's clock is ahead of the store's, which decides when jobs are due.",
		RunE: a.withClient(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Instances(ctx)
			if err != nil {
				return err
			}
			if a.output == "json" {
				return a.printJSON(wire.FromInstances(list))
			}
			return a.printTable(instanceTable(list))
		}),
	})
	return group(cmd)
}

func instanceTable(list ruqi.InstanceList) *table {
	t := &table{flexible: 4}
	t.row("ID", "STATE", "HEARTBEAT", "LEASE LEFT", "SLOTS", "VERSION", "CLOCK")
	for _, i := range list.Instances {
		left := "-"
		if i.Alive(list.Now) {
			left = age(i.LeaseUntil.Sub(list.Now))
		}
		offset := "-"
		if i.ClockOffset != nil {
			offset = fmt.Sprintf("%+d ms", i.ClockOffset.Milliseconds())
		}
		var slots []string
		for _, pool := range slices.Sorted(maps.Keys(i.Slots)) {
			size := fmt.Sprintf("%s %d", pool, i.Slots[pool])
			if pool == commands && !slices.Contains(i.Needs, commands) {
				size = commandsOff
			}
			slots = append(slots, size)
		}
		t.row(i.Owner.Instance, i.State, age(list.Now.Sub(i.Beat))+" ago", left, strings.Join(slots, ", "), orDash(i.Release), offset)
	}
	return t
}

// age shows how long ago something was, to a tenth of a second.
func age(d time.Duration) string { return max(d, 0).Round(100 * time.Millisecond).String() }
