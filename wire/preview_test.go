package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/trigger"
	"github.com/ruqi-dev/ruqi/wire"
)

// A search that was given up is not told as the end of all fire times, unless nothing more was asked for.
func TestAPreviewTellsThatASearchWasGivenUp(t *testing.T) {
	seconds := trigger.Crontab("TZ=UTC * * * * * *")
	never := trigger.Except(seconds, trigger.Times(seconds))
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	soon, late := from.Add(time.Hour), from.AddDate(1, 0, 0)
	for what, c := range map[string]struct {
		until *time.Time
		told  bool
	}{"no bound": {nil, true}, "a late bound": {&late, true}, "a bound that was reached": {&soon, false}} {
		preview, err := wire.NewPreview(t.Context(), never, time.UTC, wire.PreviewQuestion{From: from, Until: c.until, N: 3})
		if err != nil {
			t.Fatal(err)
		}
		told := len(preview.Warnings) == 1 && strings.Contains(preview.Warnings[0], "no fire time was found from 2026-03-01T00:00:00Z to 2026-03-")
		if len(preview.Times) != 0 || told != c.told {
			t.Errorf("%s: %v, warnings %q", what, preview.Times, preview.Warnings)
		}
	}
}

func TestAnExplanationTellsThatASearchWasGivenUp(t *testing.T) {
	seconds := trigger.Crontab("TZ=UTC * * * * * *")
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	shape := wire.Explain(trigger.Except(seconds, trigger.Times(seconds)), at)
	if shape.Fires || shape.After != nil || shape.SearchedTo == nil || !shape.SearchedTo.After(at) {
		t.Errorf("%+v", shape)
	}
	if shape = wire.Explain(trigger.Crontab("TZ=UTC 0 9 * * *"), at); shape.After == nil || shape.SearchedTo != nil {
		t.Errorf("%+v", shape)
	}
}
