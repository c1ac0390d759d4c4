package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// textsOf are texts of each kind that people type; their options are beside them.
var textsOf = map[string][]string{
	"cron":     {"30 2 * * mon-fri", "*/5 0-8 L,15W * fri#2", "H H(0-5) * * *", "@daily", "TZ=Asia/Tokyo 0 9 * * *", "0 0 12 ? * MON-FRI", "@reboot"},
	"interval": {"5 seconds", "every hour", "1 week", "1h30m", "1.5s", "weeks=1 hours=3", "500ms", "1 day 1 minute", "1h 30m 5s", "2us"},
	"date":     {"2026-12-01", "2026-12-01 09:30:15.25", "2026-12-01T09:30:00+05:30", "in 5 minutes", "in 1.5s"},
	"calendar": {"days=1", "years=1 months=2 weeks=3 days=4 hour=5 minute=6 second=7", "months=1 hour=9", "weeks=2 hour=2 minute=30"},
	"every": {
		"every 10 minutes", "every 5 to 10 minutes", "every day at 9am, 6pm", "every weekday", "every mon, sun at 13:15:01", "every 3 days at 9:00", "every 2 weeks at 9:00", "every 2 weeks on tuesday at 9:00",
		"every minute at :30", "every hour at :15:02", "every month on the 1st, 31st and last day at 9:00", "every year on february 29 at 11:59pm", "in 5 minutes", "in 1h 1.5s", "at 2026-12-01 09:30",
		"at 2026-12-01T09:30:00.5+02:00", "every 1.5s", "every 7 to 14 days", "every week",
	},
}

// TestATextIsReadBackAsTheSameTrigger asks each kind under all options, before and after Bind: the canonical text, read with the options that stand beside it, is
// the same trigger, and so is the JSON.
func TestATextIsReadBackAsTheSameTrigger(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 12))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	anchor := time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC)
	read := map[string]int{}
	for range 6000 {
		kind := pick("cron", "interval", "date", "calendar", "every")
		text := pick(textsOf[kind]...)
		o := trigger.ParseOptions{
			Zone: pick("", "UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"), Start: pick("", "", "2026-03-01", "2026-10-25 02:30", "2026-01-31T10:00:00.5Z", "1850-01-01 10:00"),
			End: pick("", "", "2040-01-01", "2040-02-29 23:59:59.25", "2039-01-01T00:00:00-03:30"), Gap: pick("", "", "run_after", "shift", "skip"), Fold: pick("", "", "auto", "first", "both", "second"),
			Seed: pick("", "", "job"),
		}
		if kind == "date" {
			o.Start, o.End, o.Gap, o.Fold = "", "", "", "" // it has none of them
		}
		trig, err := trigger.Parse(kind, text, o)
		if err != nil {
			continue // options that the words do not have
		}
		read[kind]++
		canonical := trig.(fmt.Stringer).String()
		// What the canonical text says by itself is not said again.
		beside := o
		if kind == "calendar" {
			beside.Start, beside.End = "", ""
		}
		switch trig.Kind() {
		case "every":
			beside.End = ""
		case "interval", "date":
			beside.Gap, beside.Fold = "", "" // words may have named the default
		}
		if loc, _ := trig.(ruqi.Bound).Binding(); loc != nil {
			beside.Zone = loc.String() // it may have stood in front of the expression
		}
		again, err := trigger.Parse(trig.Kind(), canonical, beside)
		if err != nil {
			t.Fatalf("%s %q %+v: its text %q: %v", kind, text, o, canonical, err)
		}
		same := func(what string, a, b ruqi.Trigger) {
			t.Helper()
			if one, two := encoded(t, a), encoded(t, b); one != two {
				t.Fatalf("%s %q %+v, %s: its text %q is\n%s\nnot\n%s", kind, text, o, what, canonical, two, one)
			}
			if one, two := a.(fmt.Stringer).String(), b.(fmt.Stringer).String(); one != two {
				t.Fatalf("%s %q %+v, %s: its text is %q, and that of it %q", kind, text, o, what, one, two)
			}
			decoded, err := decode([]byte(encoded(t, a)))
			if err != nil || encoded(t, decoded) != encoded(t, a) || decoded.(fmt.Stringer).String() != a.(fmt.Stringer).String() {
				t.Fatalf("%s %q %+v, %s: its JSON is read as %v %v", kind, text, o, what, decoded, err)
			}
		}
		same("open", trig, again)
		bound, err := trig.(ruqi.Binder).Bind(zone(t, "America/New_York"), anchor, "seed")
		if err != nil {
			refused(t, err)
			continue
		}
		againBound, err := again.(ruqi.Binder).Bind(zone(t, "America/New_York"), anchor, "seed")
		if err != nil {
			t.Fatalf("%s %q %+v: %v", kind, text, o, err)
		}
		same("bound", bound, againBound)
		// The text of the bound one, where it says all, bound again.
		if _, isDate := bound.(*trigger.DateTrigger); isDate {
			whole, err := trigger.Parse("date", bound.(fmt.Stringer).String(), trigger.ParseOptions{Zone: zoneName(bound)})
			if err != nil {
				t.Fatal(err)
			}
			same("bound, from its own text", bound, whole)
		}
	}
	for kind := range textsOf {
		if read[kind] < 50 {
			t.Errorf("of kind %s only %d were read", kind, read[kind])
		}
	}
}

func zoneName(trig ruqi.Trigger) string {
	loc, _ := trig.(ruqi.Bound).Binding()
	return loc.String()
}
