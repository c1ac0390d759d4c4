package cronexpr_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

func parse(t *testing.T, dialect, text string) *cronexpr.Expr {
	t.Helper()
	e, err := cronexpr.Parse(cronexpr.Lookup(dialect), text)
	if err != nil {
		t.Fatalf("parse %q as %s: %v", text, dialect, err)
	}
	return e
}

// wantText checks a canonical text, and that it is read back as itself.
func wantText(t *testing.T, dialect, text, want string) {
	t.Helper()
	e := parse(t, dialect, text)
	if e.Text() != want {
		t.Errorf("canonical text of %q: got %q, want %q", text, e.Text(), want)
	}
	if again := parse(t, dialect, e.Text()); again.Text() != e.Text() {
		t.Errorf("canonical text %q is read back as %q", e.Text(), again.Text())
	}
}

// wantFields checks the names and texts of the fields.
func wantFields(t *testing.T, dialect, text, want string) {
	t.Helper()
	var got []string
	for _, f := range parse(t, dialect, text).Fields() {
		got = append(got, f.Name+"="+f.Text)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("fields of %q: got %q, want %q", text, got, want)
	}
}

// wantError checks what a text is refused with.
func wantError(t *testing.T, dialect, text, field string, column int, suggestion string) {
	t.Helper()
	_, err := cronexpr.Parse(cronexpr.Lookup(dialect), text)
	var fault *cronexpr.Error
	if !errors.As(err, &fault) {
		t.Errorf("%s %q: got %v, want an *Error", dialect, text, err)
		return
	}
	if fault.Field != field || fault.Column != column || fault.Suggestion != suggestion {
		t.Errorf("%s %q: got field %s, column %d, suggestion %q (%v); want %s, %d, %q",
			dialect, text, fault.Field, fault.Column, fault.Suggestion, err, field, column, suggestion)
	}
	if !strings.HasPrefix(err.Error(), field+": ") {
		t.Errorf("the message %q does not begin with the field", err)
	}
}

func TestCanonicalTextKeepsTheMeaningInNames(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"crontab", "30 2 * * 1-5", "30 2 * * mon-fri"},
		{"crontab", "  30\t02  *  *  MON-Fri ", "30 2 * * mon-fri"},
		{"crontab", "0 0 * * 0,7", "0 0 * * sun,sun"},
		{"crontab", "0 0 * * 5-7", "0 0 * * fri,sat,sun"},
		{"crontab", "0 0 * * 1-7/2", "0 0 * * mon,wed,fri,sun"},
		{"crontab", "0 0 * * 0-7", "0 0 * * sun,mon,tue,wed,thu,fri,sat"},
		{"crontab", "0 0 * * 1/3", "0 0 * * mon/3"},
		{"crontab", "0 0 * * 7/3", "0 0 * * sun"},
		{"crontab", "0 0 ? JAN-mar */2", "0 0 * 1-3 */2"},
		{"crontab", "*/05 0 1 1 *", "*/5 0 1 1 *"},
		{"crontab", "@weekly", "0 0 * * sun"},
		{"crontab", "CRON_TZ=Asia/Tokyo 0 9 * * *", "0 9 * * *"},
		{"crontab", "0 0 l-03,lw,5w * fri#2,5l", "0 0 L-3,LW,5W * fri#2,friL"},
		{"ruqi", "0 30 2 LAST * 0-4", "0 30 2 last * mon-fri"},
		{"ruqi", "0 0 0 * * 6", "0 0 0 * * sun"},
	} {
		wantText(t, c.dialect, c.text, c.want)
	}
}

func TestFieldsAreNamedAndHaveTheirEffectiveText(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"crontab", "30 2 LW * 1-5,fri#2", "second=0 minute=30 hour=2 day=LW month=* day_of_week=mon-fri,fri#2"},
		{"crontab", "*/10 0 9 * JAN 7", "second=*/10 minute=0 hour=9 day=* month=1 day_of_week=sun"},
		{"crontab", "@daily", "second=0 minute=0 hour=0 day=* month=* day_of_week=*"},
		{"crontab", "@reboot", ""},
		{"ruqi", "0 30 2 LAST * 0-4", "second=0 minute=30 hour=2 day=last month=* day_of_week=mon-fri"},
	} {
		wantFields(t, c.dialect, c.text, c.want)
	}
}

func TestErrorsNameFieldColumnAndTheRightSpelling(t *testing.T) {
	for _, c := range []struct {
		dialect, text, field string
		column               int
		suggestion           string
	}{
		{"crontab", "61 * * * *", "minute", 1, ""},
		{"crontab", "0 0 * * fri-mon", "day_of_week", 9, "fri,sat,sun,mon"},
		{"crontab", "0 0 * * fri-sun", "day_of_week", 9, "fri,sat,sun"},
		{"crontab", "0 0 * * monday", "day_of_week", 9, "mon"},
		{"crontab", "0 0 1 january *", "month", 7, "jan"},
		{"crontab", "0 1,22-2 * * *", "hour", 5, "22-23,0-2"},
		{"crontab", "0 22-4/2 * * *", "hour", 3, "22,0,2,4"},
		{"crontab", "0 8 * * 5-1/2", "day_of_week", 9, "fri,sun"},
		{"crontab", "*/0 * * * *", "minute", 3, ""},
		{"crontab", "0 0 1 1", "expression", 1, ""},
		{"crontab", "@DAILY", "expression", 1, "@daily"},
		{"crontab", "daily", "expression", 1, "@daily"},
		{"crontab", "@every 90s", "expression", 1, ""},
		{"crontab", `CRON_TZ="Asia/Tokyo" 0 9 * * *`, "tz", 9, "Asia/Tokyo"},
		{"crontab", "TZ= 0 9 * * *", "tz", 4, ""},
		{"crontab", "0 0 30 2 *", "day", 5, ""},
		{"crontab", "H( 0 * * *", "minute", 1, ""},
		{"crontab", "H(30-10) 0 * * *", "minute", 3, ""},
		{"crontab", "H(5) 0 * * *", "minute", 3, ""},
		{"crontab", "H(0-60) 0 * * *", "minute", 5, ""},
		{"crontab", "H/0 0 * * *", "minute", 3, ""},
		{"crontab", "0 H2 * * *", "hour", 3, ""},
		{"crontab", "0 1-H * * *", "hour", 5, ""},
		{"crontab", "0 0 * * H(5-7)", "day_of_week", 13, ""},
		{"ruqi", "H 0 0 * * *", "second", 1, ""},
		{"ruqi", "0 0 0 * * 7", "day_of_week", 11, ""},
		{"ruqi", "0 0 0 L * *", "day", 7, "last"},
		{"ruqi", "0 0 0 L-3 * *", "day", 7, ""},
		{"ruqi", "0 0 0 * *", "expression", 1, ""},
		{"ruqi", "0 0 0 * * sun-mon", "day_of_week", 11, "sun,mon"},
		{"crontab", strings.Repeat("1,", 600) + "1 * * * *", "expression", 1025, ""},
	} {
		wantError(t, c.dialect, c.text, c.field, c.column, c.suggestion)
	}
}

// matches asks about one second alone.
func matches(e *cronexpr.Expr, wall int64) bool {
	at, ok := e.Next(wall, wall+1)
	return ok && at == wall
}

func TestNextPrevAndCountAgreeWithAWalkOverEverySecond(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	texts := []string{
		"*/7 3-5 1,15 * 5", "0 0 29 2 *", "59 23 L * *", "5 4 LW * mon#1,friL", "* * * * *",
		"*/20 */6 * */2 mon-fri", "0 12 1W,15W,31W * *", "1 1 L-3 * *", "0 */12 */9 * 1",
		"30 15 10 6 * *", "*/30 0 0 * * 3", "10-20/5 59 23 31 12 *",
	}
	for _, text := range texts {
		e := parse(t, "crontab", text)
		for range 20 {
			// Within 1900-2300: before and after the epoch, over 1900, 2100 and 2000.
			from := r.Int64N(400*365*86400) - 70*365*86400
			const width = 3 * 86400
			var hits []int64
			for w := from; w < from+width; w++ {
				if matches(e, w) {
					hits = append(hits, w)
				}
			}
			if got := e.Count(from, from+width); got != int64(len(hits)) {
				t.Fatalf("%q: Count(%d, +%d) = %d, a walk finds %d", text, from, width, got, len(hits))
			}
			at := from
			for _, want := range hits {
				got, ok := e.Next(at, from+width)
				if !ok || got != want {
					t.Fatalf("%q: Next(%d) = %d %v, a walk finds %d", text, at, got, ok, want)
				}
				at = got + 1
			}
			if got, ok := e.Next(at, from+width); ok {
				t.Fatalf("%q: Next(%d) = %d, a walk finds nothing before the limit", text, at, got)
			}
			at = from + width
			for i := len(hits) - 1; i >= 0; i-- {
				got, ok := e.Prev(at, from)
				if !ok || got != hits[i] {
					t.Fatalf("%q: Prev(%d) = %d %v, a walk finds %d", text, at, got, ok, hits[i])
				}
				at = got
			}
			if got, ok := e.Prev(at, from); ok {
				t.Fatalf("%q: Prev(%d) = %d, a walk finds nothing after the limit", text, at, got)
			}
		}
	}
}

func TestDatesAgreeWithTheStandardLibrary(t *testing.T) {
	// Every day of a cycle of the calendar, through the day field alone.
	daily := parse(t, "crontab", "0 0 1-31 1-12 *")
	at := time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC)
	for range 146097 {
		next, ok := daily.Next(at.Unix()+1, at.Unix()+200000)
		at = at.AddDate(0, 0, 1)
		if !ok || next != at.Unix() {
			t.Fatalf("the day after is %v, got %v", at, time.Unix(next, 0).UTC())
		}
		only := parseDate(at)
		if !matches(parse(t, "crontab", only), at.Unix()) {
			t.Fatalf("%q does not match %v", only, at)
		}
	}
}

func parseDate(at time.Time) string {
	return "0 0 " + at.Format("2") + " " + at.Format("1") + " *"
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/5 0 L-3,LW,15W * fri#2,5L", "TZ=TZ=TZ=", "CRON_TZ=UTC", "@daily", "@every 1s", "@reboot", "TZ=UTC @reboot",
		"0 0 * * fri-mon", "1-2-3/4/5 ,, ? *", "0 0 0 last * 0-6", "\x00\xff＊", "l l w #", "0 0 31 2 *",
	} {
		f.Add("crontab", text)
		f.Add("ruqi", text)
		f.Add("quartz", text)
		f.Add("fields", text)
	}
	for _, text := range []string{"H H(1-5)/2 H/3 * H(mon-fri)", "H() * * * *", "h/ H(-) * * *"} {
		f.Add("crontab", text)
	}
	for _, text := range []string{"0 0 22-2/3 ? 11-2 fri-mon,6#3,l 2027/2", "0 0 0 L-3,LW,15w,25-5 * ? *", "* * * ? * ? 9999"} {
		f.Add("quartz", text)
	}
	for _, text := range []string{"day='3rd fri,last' hour=1 year=2030-2040/3", "week=53 minute='*/5 , 7'", "day='  5th  sun ,'", "hour='", "year=*"} {
		f.Add("fields", text)
	}
	f.Fuzz(func(t *testing.T, dialect, text string) {
		d := cronexpr.Lookup(dialect)
		if d == nil {
			return
		}
		start := time.Now()
		e, err := cronexpr.Parse(d, text)
		if took := time.Since(start); took > time.Second {
			t.Fatalf("reading %d bytes took %v", len(text), took)
		}
		if err != nil {
			var fault *cronexpr.Error
			if !errors.As(err, &fault) || fault.Field == "" || fault.Reason == "" {
				t.Fatalf("%q is refused without a field or a reason: %#v", text, err)
			}
			return
		}
		again, err := cronexpr.Parse(d, e.Text())
		if err != nil || again.Text() != e.Text() {
			t.Fatalf("%q has the canonical text %q, which is read back as %v %v", text, e.Text(), again, err)
		}
		if e.Never() != again.Never() || e.Never() != (e.Text() == "@reboot") {
			t.Fatalf("%q never fires: %v, its canonical text %q: %v", text, e.Never(), e.Text(), again.Never())
		}
		if e.Never() {
			return
		}
		const from, until = 1_700_000_000, 1_700_000_000 + 40*86400
		if got, want := again.Count(from, until), e.Count(from, until); got != want {
			t.Fatalf("%q counts %d, its canonical text %q counts %d", text, want, e.Text(), got)
		}
		// Named years may all be past; H fires or not by its seed.
		if seeded, err := e.Seeded("a job"); err == nil {
			if _, ok := seeded.Next(0, seeded.Horizon()); !ok {
				t.Fatalf("%q was accepted but never fires", text)
			}
		}
		if next, prev := again.Fields(), e.Fields(); !slices.Equal(next, prev) {
			t.Fatalf("%q has the fields %v, its canonical text %v", text, prev, next)
		}
	})
}

func TestAnExpressionOfAnotherDialectIsToldWhichItLooksLike(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"crontab", "0 15 10 ? * 6L 2027", "seven fields are those of the dialect quartz"},
		{"ruqi", "0 15 10 ? * 6L 2027", "seven fields are those of the dialect quartz"},
		{"crontab", "hour=9", "name=value is the form of the dialect fields"},
		{"quartz", "day='3rd fri' hour=9", "name=value is the form of the dialect fields"},
	} {
		if _, err := cronexpr.Parse(cronexpr.Lookup(c.dialect), c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want a word on it: %s", c.dialect, c.text, err, c.want)
		}
	}
}
