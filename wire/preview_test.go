package wire_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
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

// January fires in January alone, each second; the rest of the year is left out one by one.
func january() ruqi.Trigger {
	return trigger.Except(trigger.Crontab("TZ=UTC * * * * * *"), trigger.Times(trigger.Crontab("TZ=UTC * * * * 2-12 *")))
}

// That there is no fire time before an instant is not said where the search for it was given up.
func TestASearchBackwardsThatWasGivenUpIsTold(t *testing.T) {
	at := time.Date(2026, 12, 30, 0, 0, 0, 0, time.UTC)
	const told = "no fire time was found before 2026-12-30T00:00:00Z; the search was given up, and there may be earlier ones"
	preview, err := wire.NewPreview(t.Context(), january(), time.UTC, wire.PreviewQuestion{From: at, N: 1, Previous: 2, At: &at})
	if err != nil || len(preview.Times) != 1 || len(preview.Previous) != 0 || !slices.Equal(preview.Warnings, []string{told}) || !preview.Explanation.BeforeGivenUp {
		t.Errorf("%+v, %v", preview, err)
	}
	if got := wire.WhyNone(january(), at, nil, true); got != told {
		t.Errorf("why none before: %q", got)
	}
	// One that has ended, and has none for long before its end.
	end := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC)
	seconds, err := trigger.Cron("* * * * * *", trigger.CronOptions{Zone: time.UTC, End: &end})
	if err != nil {
		t.Fatal(err)
	}
	ended := trigger.Except(seconds, trigger.Times(trigger.Crontab("TZ=UTC * * * * 2-12 *")))
	if got := wire.WhyNone(ended, at, nil, false); got != "no fire time after 2026-12-30T00:00:00Z: its end is 2025-12-01T00:00:00Z" {
		t.Errorf("why none after the end: %q", got)
	}
	// What is known is said as before.
	start := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	late, err := trigger.Cron("* * * * * *", trigger.CronOptions{Zone: time.UTC, Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	begun := trigger.Except(late, trigger.Times(trigger.Crontab("TZ=UTC 0 * * * * *")))
	if got := wire.WhyNone(begun, at, nil, true); got != "no fire time before 2026-12-30T00:00:00Z: the first one is 2026-12-31T00:00:01Z" {
		t.Errorf("why none before the start: %q", got)
	}
	if shape := wire.Explain(begun, at); shape.Before != nil || shape.BeforeGivenUp {
		t.Errorf("%+v", shape)
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

// What fires in a year far away is shown, alone and among others, and nothing says that it never does.
func TestAPreviewShowsWhatIsCenturiesAway(t *testing.T) {
	far, err := trigger.Cron("0 0 12 1 1 ? 2600", trigger.CronOptions{Dialect: "quartz", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	from, want := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), time.Date(2600, 1, 1, 12, 0, 0, 0, time.UTC)
	for what, one := range map[string]ruqi.Trigger{
		"alone": far, "any": trigger.Any(far), "all": trigger.All(far, trigger.Crontab("TZ=UTC 0 12 * * *")), "only": trigger.Only(trigger.Crontab("TZ=UTC 0 12 * * *"), trigger.Times(far)),
	} {
		preview, err := wire.NewPreview(t.Context(), one, time.UTC, wire.PreviewQuestion{From: from, N: 1, Previous: 1, At: &from, Why: true})
		if err != nil || len(preview.Times) != 1 || !preview.Times[0].Equal(want) || len(preview.Warnings) != 0 {
			t.Errorf("%s: %v, warnings %q, %v", what, preview.Times, preview.Warnings, err)
			continue
		}
		if e := preview.Explanation; e.After == nil || !e.After.Equal(want) || e.Before != nil || e.BeforeGivenUp || e.SearchedTo != nil {
			t.Errorf("%s: it is explained by %+v", what, e)
		}
		if got := wire.WhyNone(one, from, nil, true); got != "no fire time before 2026-11-30T00:00:00Z: the first one is 2600-01-01T12:00:00Z" {
			t.Errorf("%s: why none before: %q", what, got)
		}
		after := want.Add(time.Second)
		if got := wire.WhyNone(one, after, nil, false); got != "it has ended: its last fire time was 2600-01-01T12:00:00Z" {
			t.Errorf("%s: why none after: %q", what, got)
		}
	}
}
