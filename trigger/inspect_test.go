package trigger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func parsed(t *testing.T, kind, text string, o trigger.ParseOptions) ruqi.Trigger {
	t.Helper()
	got, err := trigger.Parse(kind, text, o)
	if err != nil {
		t.Fatalf("%s %q: %v", kind, text, err)
	}
	return got
}

func texts(times []time.Time) string {
	var list []string
	for _, at := range times {
		list = append(list, at.UTC().Format("01-02T15:04"))
	}
	return strings.Join(list, " ")
}

func TestTimesAroundAnInstant(t *testing.T) {
	working := parsed(t, "cron", "0 9,17 * * mon-fri", trigger.ParseOptions{Zone: "UTC", Start: "2026-11-01", End: "2026-12-31"})
	at := instant(t, "2026-11-30T09:00:00Z") // a Monday
	if got := texts(trigger.Following(working, at, 3)); got != "11-30T17:00 12-01T09:00 12-01T17:00" {
		t.Errorf("following: %s", got)
	}
	if got := texts(trigger.Previous(working, at, 3)); got != "11-27T17:00 11-27T09:00 11-26T17:00" {
		t.Errorf("previous: %s", got)
	}
	times, more := trigger.Between(working, at, instant(t, "2026-12-01T09:00:00Z"), 10)
	if texts(times) != "11-30T09:00 11-30T17:00 12-01T09:00" || more {
		t.Errorf("between, both inclusive: %s, more %v", texts(times), more)
	}
	times, more = trigger.Between(working, at, instant(t, "2026-12-01T09:00:00Z"), 2)
	if texts(times) != "11-30T09:00 11-30T17:00" || !more {
		t.Errorf("between, two at most: %s, more %v", texts(times), more)
	}
	first, _ := trigger.First(working)
	last, _ := trigger.Last(working)
	if got := texts([]time.Time{first, last}); got != "11-02T09:00 12-30T17:00" {
		t.Errorf("first and last: %s", got)
	}
	if got := trigger.Following(working, instant(t, "2026-12-30T12:00:00Z"), 5); len(got) != 1 {
		t.Errorf("five of which one is left: %v", got)
	}
	if got := trigger.Previous(working, instant(t, "2026-11-02T12:00:00Z"), 5); len(got) != 1 {
		t.Errorf("five of which there was one: %v", got)
	}
	if trigger.Following(working, at, 0) != nil || trigger.Previous(working, at, -1) != nil {
		t.Error("no times were asked for")
	}
	never := trigger.Crontab("@reboot")
	if _, ok := trigger.First(never); ok {
		t.Error("@reboot has a first time")
	}
	if _, ok := trigger.Last(never); ok {
		t.Error("@reboot has a last time")
	}
}

// bare hides every ability of a trigger.
type bare struct{ ruqi.Trigger }

// TestATriggerWithoutAbilitiesIsAskedByNext: what is found by Next alone is what the trigger itself says.
func TestATriggerWithoutAbilitiesIsAskedByNext(t *testing.T) {
	every, err := trigger.Interval(1234567*time.Microsecond, trigger.IntervalOptions{StartText: "2026-11-30T00:00:00Z", EndText: "2027-11-30T00:00:00Z", Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	once := trigger.Date(instant(t, "2026-11-30T09:00:00.000001Z"))
	for _, whole := range []ruqi.Trigger{
		parsed(t, "cron", "0 9,17 * * mon-fri", trigger.ParseOptions{Zone: "Europe/Berlin"}), every, once,
		parsed(t, "cron", "0 0 29 2 *", trigger.ParseOptions{Zone: "America/New_York", Start: "2000-01-01"}),
		parsed(t, "cron", "30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Fold: "both", Gap: "shift"}),
	} {
		part := bare{whole}
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 0))
		for range 300 {
			at := instant(t, "2026-11-30T08:59:59.9Z").Add(time.Duration(random.Int64N(int64(100 * 24 * time.Hour))))
			want, got := trigger.Previous(whole, at, 2), trigger.Previous(part, at, 2)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%v before %v (seed %d): got %v, want %v", whole, at, seed, got, want)
			}
			if len(want) > 0 && (!trigger.Matches(part, want[0]) || !trigger.Matches(whole, want[0])) || trigger.Matches(part, at) != trigger.Matches(whole, at) {
				t.Fatalf("%v: matches differ around %v (seed %d)", whole, at, seed)
			}
		}
		first, _ := trigger.First(whole)
		if got, ok := trigger.First(part); !ok || !got.Equal(first) {
			t.Errorf("%v: first is %v, want %v", whole, got, first)
		}
		last, _ := trigger.Last(whole)
		if got, ok := trigger.Last(part); !ok || !got.Equal(last) {
			t.Errorf("%v: last is %v, want %v", whole, got, last)
		}
	}
	for at, want := range map[string]string{
		"2026-06-01T00:00:00Z": "",
		"2026-06-01T00:10:00Z": "hourly: no fire time; the ones on either side are 2026-06-01T00:00:00Z and 2026-06-01T01:00:00Z",
		"2020-06-01T00:10:00Z": "hourly: no fire time; the first one is 2026-01-01T00:00:00Z",
		"2028-06-01T00:10:00Z": "hourly: no fire time; the last one is 2026-12-31T23:00:00Z",
	} {
		if got := rulings(trigger.Explain(hourly{}, instant(t, at), ruqi.English)); got != want {
			t.Errorf("at %s: got %q, want %q", at, got, want)
		}
	}
	if got := rulings(trigger.Explain(bare{trigger.Crontab("@reboot")}, time.Now(), ruqi.English)); got != "cron: no fire time; there is none at all" {
		t.Errorf("got %q", got)
	}
}

func rulings(list []ruqi.Ruling) string {
	var texts []string
	for _, r := range list {
		texts = append(texts, fmt.Sprintf("%s: %s", r.Part, r.Message))
	}
	return strings.Join(texts, " | ")
}

func TestExplainNamesWhatRulesAnInstantOut(t *testing.T) {
	berlin := trigger.ParseOptions{Zone: "Europe/Berlin"}
	for _, c := range []struct {
		kind, text string
		o          trigger.ParseOptions
		at, want   string
	}{
		{"cron", "30 2 * * mon-fri", berlin, "2026-11-30T02:30:00+01:00", ""},
		{"cron", "30 2 * * mon-fri", berlin, "2026-11-29T02:30:00+01:00", "day_of_week: the weekday is sun, and the expression asks for mon-fri"},
		{"cron", "30 2 * * mon-fri", berlin, "2026-11-30T03:15:00+01:00",
			"minute: the minute is 15, and the expression asks for 30 | hour: the hour is 3, and the expression asks for 2"},
		{"cron", "0 0 13 * fri", berlin, "2026-12-14T00:00:00+01:00", "day: the day of the month is 14, and the expression asks for 13, or else for the weekday fri | " +
			"day_of_week: the weekday is mon, and the expression asks for fri, or else for the day of the month 13"},
		{"cron", "0 0 * * *", trigger.ParseOptions{Zone: "UTC", Start: "2026-03-01", End: "2026-04-01"}, "2026-02-01T00:00:00Z", "start: the start is 2026-03-01T00:00:00Z, which is later"},
		{"cron", "0 0 * * *", trigger.ParseOptions{Zone: "UTC", Start: "2026-03-01", End: "2026-04-01"}, "2026-05-01T00:00:00Z", "end: the end is 2026-04-01T00:00:00Z, which is earlier"},
		{"cron", "* * * * * *", berlin, "2026-05-01T00:00:00.25Z", "second: the instant has a fraction of a second, and cron fires at whole seconds"},
		// Berlin's clock leaves out 02:00 to 03:00 on 29 March 2026, and shows it twice on 25 October.
		{"cron", "30 2 * * *", berlin, "2026-03-29T03:00:00+02:00", ""},
		{"cron", "30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Gap: "skip"}, "2026-03-29T03:00:00+02:00",
			"minute: the minute is 0, and the expression asks for 30 | hour: the hour is 3, and the expression asks for 2 | " +
				"gap: a clock change leaves out a time of the expression, which would fire here if gap were run_after, and gap is skip"},
		{"cron", "30 2 * * *", berlin, "2026-03-29T03:30:00+02:00", "hour: the hour is 3, and the expression asks for 2 | " +
			"gap: a clock change leaves out a time of the expression, which would fire here if gap were shift, and gap is run_after"},
		{"cron", "*/30 2 * * *", berlin, "2026-03-29T03:00:00+02:00", "hour: the hour is 3, and the expression asks for 2"},
		{"cron", "30 2 * * *", berlin, "2026-10-25T02:30:00+01:00", "fold: a clock change brings 02:30:00 twice, this is the second time, and fold is auto"},
		{"cron", "30 2 * * *", berlin, "2026-10-25T02:30:00+02:00", ""},
		{"cron", "30 2 * * *", trigger.ParseOptions{Zone: "Europe/Berlin", Fold: "second"}, "2026-10-25T02:30:00+02:00",
			"fold: a clock change brings 02:30:00 twice, this is the first time, and fold is second"},
		{"cron", "*/30 2 * * *", berlin, "2026-10-25T02:30:00.5+01:00", "second: the instant has a fraction of a second, and cron fires at whole seconds"},
		{"cron", "@reboot", berlin, "2026-10-25T02:30:00+01:00", "expr: @reboot stands for the start of an instance, and for no time"},
		{"cron", "30 H * * *", trigger.ParseOptions{Zone: "UTC", Seed: "reports"}, "2026-10-25T02:30:00Z", "hour: the hour is 2, and the expression asks for H, which is 4 here"},
		{"cron", "week=1 day_of_week=mon", trigger.ParseOptions{Zone: "UTC", Dialect: "fields"}, "2026-12-28T00:00:00Z", "week: the ISO week is 53, and the expression asks for 1"},
		{"cron", "0 0 12 ? * 2 2026-2028", trigger.ParseOptions{Zone: "UTC", Dialect: "quartz"}, "2029-11-26T12:00:00Z", "year: the year is 2029, and the expression asks for 2026-2028"},
		{"interval", "hours=1 start_date=2026-03-01 end_date=2026-03-02", trigger.ParseOptions{Zone: "UTC"}, "2026-03-01T05:00:00Z", ""},
		{"interval", "hours=1 start_date=2026-03-01 end_date=2026-03-02", trigger.ParseOptions{Zone: "UTC"}, "2026-03-01T05:00:20Z",
			"every: it is 20s after 2026-03-01T05:00:00Z, and the next is 1h after that"},
		{"interval", "hours=1 start_date=2026-03-01 end_date=2026-03-02", trigger.ParseOptions{Zone: "UTC"}, "2026-02-01T05:00:00Z", "start: the start is 2026-03-01T00:00:00Z, which is later"},
		{"interval", "hours=1 start_date=2026-03-01 end_date=2026-03-02", trigger.ParseOptions{Zone: "UTC"}, "2026-04-01T05:00:00Z", "end: the end is 2026-03-02T00:00:00Z, which is earlier"},
		{"interval", "1h", trigger.ParseOptions{Zone: "UTC"}, "2026-04-01T05:00:00Z", "anchor: it has no anchor to count from yet"},
		{"date", "2026-03-01 10:00", trigger.ParseOptions{Zone: "UTC"}, "2026-03-01T10:00:00Z", ""},
		{"date", "2026-03-01 10:00", trigger.ParseOptions{Zone: "UTC"}, "2026-03-01T10:00:00.000000001Z", "at: it fires once, at 2026-03-01T10:00:00Z"},
	} {
		if got := rulings(trigger.Explain(parsed(t, c.kind, c.text, c.o), instant(t, c.at), ruqi.English)); got != c.want {
			t.Errorf("%s %q %+v at %s:\n got %s\nwant %s", c.kind, c.text, c.o, c.at, got, c.want)
		}
	}
	bound, err := trigger.Parse("interval", "1h", trigger.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	anchored, err := bound.(ruqi.Binder).Bind(time.UTC, instant(t, "2026-03-01T10:00:00Z"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := rulings(trigger.Explain(anchored, instant(t, "2026-03-01T10:00:00Z"), ruqi.English)); got != "anchor: the first fire time is 2026-03-01T11:00:00Z, one length after the anchor 2026-03-01T10:00:00Z" {
		t.Errorf("at its anchor: %s", got)
	}
	if got := rulings(trigger.Explain(trigger.Crontab("61 * * * *"), time.Now(), ruqi.English)); !strings.HasPrefix(got, "expr: ") || !strings.Contains(got, "minute") {
		t.Errorf("a wrong expression: %s", got)
	}
}

// TestExplainAgreesWithNext: a reason is given exactly where the trigger does not fire, around clock changes above all.
func TestExplainAgreesWithNext(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for _, expr := range []string{"30 2 * * *", "*/20 1-3 * * *", "0 0 * * *", "0,30 0-3 25-31 3,10 *", "0 3 13 * sun", "* * * * * *"} {
		for _, gap := range []string{"run_after", "shift", "skip"} {
			for _, fold := range []string{"auto", "first", "both", "second"} {
				for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo"} {
					cron := parsed(t, "cron", expr, trigger.ParseOptions{Zone: name, Gap: gap, Fold: fold, Start: "2026-02-01", End: "2027-12-01"})
					ask := func(at time.Time) {
						next, ok := cron.Next(at.Add(-1))
						if fires := ok && next.Equal(at); fires != (trigger.Explain(cron, at, ruqi.English) == nil) || fires != trigger.Matches(cron, at) {
							t.Fatalf("%v gap %s fold %s in %s at %v (seed %d): fires %v, matches %v, explained by %v", cron, gap, fold, name, at, seed, fires, trigger.Matches(cron, at), trigger.Explain(cron, at, ruqi.English))
						}
					}
					for range 60 {
						ask(instant(t, "2026-01-01T00:00:00Z").Add(time.Duration(random.Int64N(2*365*24*60)) * time.Minute))
					}
					for _, day := range []string{"2026-03-28T22:00:00Z", "2026-10-24T22:00:00Z", "2026-04-23T20:00:00Z", "2026-10-03T13:00:00Z"} {
						for k := range 60 {
							ask(instant(t, day).Add(time.Duration(k) * 10 * time.Minute))
						}
					}
				}
			}
		}
	}
}

// FuzzInspect: whatever can be read has a phrase in both languages, and a reason at an instant exactly where it does not fire.
func FuzzInspect(f *testing.F) {
	for _, seed := range [][3]string{
		{"cron", "H,30 3-9/2 L,1,15W 1-3 fri#2,monL", "crontab"}, {"cron", "0 0/5 22-2 ? * 6L 2027/2", "quartz"},
		{"cron", "week=1,53 day='1st mon,last' second=*/7", "fields"}, {"cron", "0 30 2 last * 0-4", "ruqi"}, {"cron", "@reboot", ""},
		{"interval", "1h30m", ""}, {"date", "2026-03-29 03:00", ""}, {"every", "every 5 to 10 minutes", ""}, {"every", "every monday at 13:15", ""},
		{"calendar", "months=1 hour=9 start_date=2026-01-31", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], "Europe/Berlin", int64(1774746000))
	}
	f.Fuzz(func(t *testing.T, kind, text, dialect, zone string, at int64) {
		read, err := trigger.Parse(kind, text, trigger.ParseOptions{Dialect: dialect, Zone: zone, Now: time.Unix(1_800_000_000, 0)})
		if err != nil {
			return
		}
		for _, in := range []ruqi.Language{ruqi.English, ruqi.Chinese} {
			if words := trigger.Describe(read, in); words == "" || !utf8.ValidString(words) || strings.Contains(words, "  ") {
				t.Errorf("%s %q is described as %q", kind, text, words)
			}
		}
		instant := time.Unix(at%(1<<37), 0)
		next, ok := read.Next(instant)
		for _, asked := range []time.Time{instant, next} {
			again, found := read.Next(asked.Add(-1))
			fires := found && again.Equal(asked)
			if reasons := trigger.Explain(read, asked, ruqi.English); fires != (len(reasons) == 0) || fires != trigger.Matches(read, asked) || ok && asked.Equal(next) && !fires {
				t.Errorf("%s %q at %v: fires %v, matches %v, explained by %v", kind, text, asked, fires, trigger.Matches(read, asked), reasons)
			}
		}
	})
}
