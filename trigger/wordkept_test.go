package trigger_test

import (
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/trigger"
)

// refusal returns what is said of words that are refused.
func refusal(t *testing.T, text string) string {
	t.Helper()
	_, err := trigger.Parse("every", text, trigger.ParseOptions{})
	if err == nil {
		t.Fatalf("%q is accepted", text)
	}
	return err.Error()
}

// Days that stand beside others without a comma narrow them down, or contradict them: they are no more of them.
func TestDaysBesideOtherDaysAreNotAdded(t *testing.T) {
	for _, text := range []string{
		"every weekend at 9am on weekdays", "every weekday 9am on monday", "each mon-fri at 9.30 on monday until 2030-01-01", "each weekend on weekdays starting at 10:00",
		"first weekday at 9 on the last friday", "every last fri at 9 on the 2nd monday", "first mon and wed on the 2nd monday", "every last day on the 31st", "second day at 9 on the 1st and 15th",
		"every weekday on monday in march", "every mon-fri at 9 on monday except december 25",
		"every 5 minutes on weekdays on monday",
	} {
		for _, shown := range []string{"as a whole, write", "is a kind cron, ", `{"kind":`} {
			if said := refusal(t, text); strings.Contains(said, shown) {
				t.Errorf("%q: %s", text, said)
			}
		}
	}
	for text, want := range map[string]string{
		"monday and on friday at 9": "every monday, friday at 09:00", "monday wednesday friday at 9": "every monday, wednesday, friday at 09:00", "9:00 every monday and every friday": "every monday, friday at 09:00",
		"9:00 on the 1st and on the 15th of the month": "every month on the 1st, 15th at 09:00", "first monday and third monday at 9": "0 9 * * mon#1,mon#3", "monthly on the first and the last friday": "0 0 * * fri#1,friL",
	} {
		if said := refusal(t, text); !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %s", text, said, want)
		}
	}
}

// A word for what repeats is not shown another way where what follows is refused then.
func TestAdverbsAreShownOnlyWhereTheyLeadOn(t *testing.T) {
	for _, text := range []string{"monthly on monday", "yearly on the 5th", "weekly on the 31st", "hourly at noon 5 times", "every yearly on march 15 until june"} {
		if said := refusal(t, text); strings.Contains(said, "write every") || strings.Contains(said, "; write year") {
			t.Errorf("%q: %s", text, said)
		}
	}
}

// The example of a month has the time that was typed only where nothing more is said of it.
func TestExamplesHaveNoTimeThatWasNotTyped(t *testing.T) {
	for _, text := range []string{"every month at 9 in the evening", "every month of january between 9am and 5pm", "every year at 9 in the evening"} {
		if said := refusal(t, text); strings.Contains(said, "15th at ") || strings.Contains(said, "15 at ") {
			t.Errorf("%q: %s", text, said)
		}
	}
}

// A date as the end of another kind is 00:00; as that of words it is the whole day.
func TestAnEndBesideAnotherKindKeepsItsDay(t *testing.T) {
	for text, want := range map[string]string{
		"every first monday at 9 until 2030-01-07":       "--end '2030-01-07 23:59:59'",
		"every first monday at 9 until 2030-01-07 10:00": "--end '2030-01-07 10:00'",
		"every 2 months at 9 until 2030-01-07":           "--end '2030-01-07 23:59:59'",
		"quarterly at 9 until 2030-01-07":                "--end '2030-01-07 23:59:59'",
		"every monday in march at 9 until 2030-01-07":    "--end '2030-01-07 23:59:59'",
		"every first monday until 2030-01-07T10:00:00Z":  "--end '2030-01-07T10:00:00Z'",
	} {
		if said := refusal(t, text); !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %s", text, said, want)
		}
	}
}

// Monday is 2 to Quartz, and 1 to others.
func TestFieldsOfQuartzAreShownInItsDialect(t *testing.T) {
	for text, want := range map[string]string{
		"0 0 9 ? * 2#1":           "kind cron of the dialect quartz, 0 0 9 ? * 2#1",
		"0 0 9 ? * 2-6":           "kind cron of the dialect quartz, 0 0 9 ? * 2-6",
		"cron: '0 0 9 ? * 2-6 *'": "kind cron of the dialect quartz, 0 0 9 ? * 2-6 *",
		"0 0 9 ? * mon":           "kind cron",
		"0 9 * * 1":               "kind cron, 0 9 * * 1",
	} {
		if said := refusal(t, text); !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %s", text, said, want)
		}
	}
}

// A date with slashes is no zone.
func TestADateWithSlashesIsNoZone(t *testing.T) {
	if said := refusal(t, "every first monday at 9 until 12/25/2030"); !strings.Contains(said, "12/25/2030") || !strings.Contains(said, "write 2030-12-25") {
		t.Error(said)
	}
}
