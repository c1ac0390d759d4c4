package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

// TestTheLimitsOfTheGuideAreThoseOfTheProgram takes each row of the guide's table at its word: what stands there is accepted, the
// next beyond is refused, with the member named.
func TestTheLimitsOfTheGuideAreThoseOfTheProgram(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "### What is accepted\n")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if rows > 0 && !strings.HasPrefix(line, "|") {
			break
		}
		if len(cells) < 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		member, least, most := strings.Trim(cells[0], "| `"), cells[1], cells[2]
		unit, _, _ := strings.Cut(strings.Trim(cells[3], " |"), ",")
		unit, _, _ = strings.Cut(unit, ";")
		for _, c := range []struct {
			bound  string
			beyond int64
		}{{least, -1}, {most, 1}} {
			if err := limitTrial(t, member, valueAt(t, member, unit, c.bound, 0)); err != "" {
				t.Errorf("%s of %s is refused: %.300s", member, c.bound, err)
			}
			value := valueAt(t, member, unit, c.bound, c.beyond)
			if value == nil {
				continue // shorter than nothing
			}
			pointer := "/" + strings.ReplaceAll(member, ".", "/")
			if err := limitTrial(t, member, value); !strings.Contains(err, strings.TrimPrefix(strings.ReplaceAll(pointer, "/", "."), ".")) && !strings.Contains(err, pointer) {
				t.Errorf("one beyond %s of %s is not refused: %.300s", c.bound, member, err)
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows were found", rows)
	}
}

// valueAt is the value of a member at a bound, or next to it; nil: there is none.
func valueAt(t *testing.T, member, unit, bound string, beyond int64) any {
	t.Helper()
	base := 10
	if unit == "octal digits" {
		base = 8
	}
	n, err := strconv.ParseInt(bound, base, 64)
	if unit == "time" {
		d, wrong := duration.Parse(bound)
		step := int64(1000) // 1 us
		if member == "task.limits.cpu_time" {
			step = 1e9
		}
		n, err, beyond = int64(d), wrong, beyond*step
	}
	if err != nil {
		t.Fatalf("%s: %v", member, err)
	}
	n += beyond
	long := func(letter string) string { return strings.Repeat(letter, int(n)) }
	switch {
	case unit == "":
		return n
	case unit == "time" && n >= 0:
		return fmt.Sprintf("%dus", n/1000)
	case unit == "octal digits" && n >= 0:
		return strconv.FormatInt(n, 8)
	case n < 0 || n == 0 && (member == "name" || member == "executor" || member == "task.user"):
		return nil // an empty one is as good as none
	case member == "tags":
		return strings.Split(strings.TrimSuffix(long("t,"), ","), ",")[:n]
	case unit == "entries":
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("K%d", i)] = "v"
		}
		return all
	case member == "params" && n < 2:
		return nil
	case member == "params":
		if n == 2 {
			return map[string]string{}
		}
		return map[string]string{"a": strings.Repeat("x", int(n)-len(`{"a":""}`))}
	case member == "task.argv" && n == 0:
		return []string{}
	case member == "task.argv":
		return []string{"x", strings.Repeat("y", int(n)-1)}
	case unit == "characters":
		return long("é")
	}
	return long("x")
}

// limitTrial reads a job that has the member, and returns what is wrong with it.
func limitTrial(t *testing.T, member string, value any) string {
	t.Helper()
	job := map[string]any{"trigger": map[string]any{"kind": "interval", "every": "1h"}, "task": map[string]any{"kind": "command", "command": "x"}}
	at := job
	names := strings.Split(member, ".")
	for _, name := range names[:len(names)-1] {
		below, there := at[name].(map[string]any)
		if !there {
			below = map[string]any{}
			at[name] = below
		}
		at = below
	}
	at[names[len(names)-1]] = value
	switch member {
	case "task.argv":
		delete(at, "command")
	case "policy.retry.delay":
		at["max"] = 1
	case "policy.retry.max_delay":
		at["max"], at["delay"] = 1, "1us"
	}
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.DecodeNew(standard.Registry(standard.Options{}), text); err != nil {
		return err.Error()
	}
	return ""
}
