package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/trigger/daycal"
	"github.com/ruqi-dev/ruqi/wire"
)

// triggerText says in a few words when a job fires.
func triggerText(when ruqi.Trigger) string {
	if when == nil {
		return "-"
	}
	var t struct{ Kind, Expr, Dialect, Zone, Every, At, Text, End string }
	data, err := when.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	text := ""
	switch {
	case err != nil || t.Kind == "":
		return when.Kind()
	case t.Expr != "":
		text = t.Expr
		if t.Dialect != "" && t.Dialect != "crontab" {
			text += " (" + t.Dialect + ")"
		}
		if t.Zone != "" {
			text += " " + t.Zone
		}
	case t.Every != "":
		text = "every " + t.Every
	case t.At != "":
		text = "once"
	case t.Text != "":
		text = zoned(t.Text, t.End, t.Zone)
	default:
		text = t.Kind
		if words, ok := when.(fmt.Stringer); ok && t.Kind == "calendar" {
			text = zoned(words.String(), "", t.Zone)
		}
	}
	return text
}

// listedWords is how wide a trigger in words may be in a list, in columns: "at 09:00 on Monday to Friday, Europe/Berlin time" and the
// beginning of what it is held against.
const listedWords = 72

// listedTrigger is triggerText for a list: a trigger that is made of others has no shorter text than words, which are cut.
func listedTrigger(when ruqi.Trigger) string {
	words, ok := when.(ruqi.Describer)
	if _, made := when.(ruqi.CalendarUser); !made || !ok {
		return triggerText(when)
	}
	// The days of named calendars are known to the service alone: they are none here, and not told.
	unknown := " (" + (&daycal.Calendar{}).Describe(ruqi.English) + ")"
	return shorten(strings.ReplaceAll(words.Describe(ruqi.English), unknown, ""), listedWords)
}

// zoned puts the end and the zone behind a text that says when, where there are any.
func zoned(text, end, zone string) string {
	if end != "" {
		text += " until " + end
	}
	if zone != "" {
		text += " " + zone
	}
	return text
}

func taskText(task ruqi.Task) string {
	if task == nil {
		return "-"
	}
	return task.String()
}

// describeJob says in words when a job fires. The days of named calendars are known to the service alone, so it is asked where a
// trigger has any; of one that the service cannot read, such as one whose calendar is gone, there are no words.
func describeJob(ctx context.Context, c *client.Client, job ruqi.Job) (string, error) {
	if user, ok := job.Trigger.(ruqi.CalendarUser); !ok || len(user.Calendars()) == 0 {
		if words, ok := job.Trigger.(ruqi.Describer); ok {
			return words.Describe(ruqi.English), nil
		}
		return "", nil
	}
	shape, err := wire.FromJob(job)
	if err != nil {
		return "", err
	}
	preview, err := c.Preview(ctx, wire.PreviewRequest{Trigger: shape.Trigger, N: 1})
	if errors.Is(err, ruqi.ErrInvalid) {
		return "", nil
	}
	return preview.Description.English, err
}

// showJob shows a job, which fires as the words say. Its times are those of its trigger's zone.
func (a *app) showJob(job ruqi.Job, fires string) error {
	shape, err := wire.FromJob(job)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(shape)
	}
	zone := wire.Zone(job.Trigger)
	t := &table{}
	t.row("id", job.ID)
	t.row("name", job.Name)
	if job.Description != "" {
		t.lines("description", job.Description)
	}
	t.row("state", string(job.State)+strings.TrimRight(" "+parens(job.StateReason), " "))
	if job.Parked != "" {
		t.row("parked", job.Parked)
	}
	t.row("next", clock(job.NextDue, zone))
	t.row("trigger", triggerText(job.Trigger))
	if fires != "" {
		t.row("fires", fires)
	}
	// What the line above says, and what is as it is for everybody.
	t.members(shape.Trigger, "kind", "expr", "dialect", "every", "text", "years", "months", "weeks", "days", "hour", "minute", "second", "zone", "gap=run_after", "fold=auto")
	t.lines("task", taskText(job.Task))
	t.members(shape.Task, "kind", "command", "argv", "name")
	t.row("executor", job.Executor)
	t.row("priority", fmt.Sprint(job.Priority))
	if len(job.Tags) > 0 {
		t.row("tags", strings.Join(job.Tags, ", "))
	}
	for _, label := range slices.Sorted(maps.Keys(job.Labels)) {
		t.row("label", label+"="+job.Labels[label])
	}
	if string(shape.Params) != "{}" {
		t.row("params", string(plainJSON(shape.Params)))
	}
	policy, err := policyText(shape.Policy)
	if err != nil {
		return err
	}
	t.row("policy", policy)
	t.row("runs", fmt.Sprint(job.RunCount))
	t.row("version", fmt.Sprint(job.Version))
	t.row("created", clock(&job.Created, zone))
	t.row("updated", clock(&job.Updated, zone))
	return a.printTable(t)
}

// members adds a row for each member of a trigger or task that has a value and is not left out. What is
// left out is named, with =VALUE for one value of it alone.
func (t *table) members(data json.RawMessage, leftOut ...string) {
	var members map[string]any
	if json.Unmarshal(data, &members) != nil {
		return // null: there is none
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		if value == nil || slices.Contains(leftOut, name) || slices.Contains(leftOut, name+"="+valueText(value)) {
			continue
		}
		if list, ok := value.(map[string]any); ok && (name == "env" || name == "limits") {
			for _, key := range slices.Sorted(maps.Keys(list)) {
				t.lines("  "+name, key+"="+valueText(list[key]))
			}
			continue
		}
		t.lines("  "+name, valueText(value))
	}
}

// valueText shows a text as it is and other values as JSON.
func valueText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(plainJSON(text))
}

// policyText shows what a policy has other than the default.
func policyText(policy wire.Policy) (string, error) {
	plain, err := wire.FromSpec(ruqi.JobSpec{})
	if err != nil {
		return "", err
	}
	var own, defaults map[string]any
	for into, p := range map[*map[string]any]wire.Policy{&own: policy, &defaults: plain.Policy} {
		text, err := encode(p)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return "", err
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if value := own[name]; value != defaults[name] {
			parts = append(parts, name+" "+valueText(value))
		}
	}
	if len(parts) == 0 {
		return "default", nil
	}
	return strings.Join(parts, ", "), nil
}

func parens(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}
