package trigger_test

import (
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// TestParseKnowsTheKindsOfARegistry: a program that has a kind of its own can parse what is made of it.
func TestParseKnowsTheKindsOfARegistry(t *testing.T) {
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	registry.RegisterTrigger("hourly", func([]byte) (ruqi.Trigger, error) { return hourly{}, nil })
	const text = `{"kind":"any","of":[{"kind":"hourly"},{"kind":"cron","expr":"30 9 * * *"}]}`
	if _, err := trigger.Parse("any", text, trigger.ParseOptions{}); err == nil || !strings.Contains(err.Error(), "hourly") {
		t.Errorf("without the registry: %v", err)
	}
	for kind, text := range map[string]string{"any": text, "hourly": `{"kind":"hourly"}`} {
		read, err := trigger.Parse(kind, text, trigger.ParseOptions{Registry: registry, Zone: "UTC"})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if at, ok := read.Next(instant(t, "2026-06-01T09:00:00Z")); read.Kind() != kind || !ok || at.After(instant(t, "2026-06-01T10:00:00Z")) {
			t.Errorf("%s: %v, next at %v", kind, read, at)
		}
	}
	for kind, text := range map[string]string{"moon": `{"kind":"moon"}`, "hourly": `{"kind":"cron","expr":"30 9 * * *"}`, "only": `{"kind":"hourly"}`} {
		if read, err := trigger.Parse(kind, text, trigger.ParseOptions{Registry: registry}); err == nil {
			t.Errorf("%s %s: %v", kind, text, read)
		}
	}
	if _, err := trigger.Parse("hourly", `{"kind":"hourly"}`, trigger.ParseOptions{Registry: registry, Gap: "skip"}); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("an option that it does not have: %v", err)
	}
}
