package trigger_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

// A row of testdata: what is asked and what comes out. The files were made with
// other schedulers and checked by walking over real minutes.
type row struct {
	ID, Dialect, Expr string
	ExprB64           string `json:"expr_b64"`
	TZ, From          string
	N                 int
	Want              []string
	Ends              bool
	Rule              string
	Kind              string
	Variants          map[string][]string
	Field, Outcome    string
}

// rowCounts are how many rows each file of testdata has: one that was cut short would be a test that says less than it seems to.
var rowCounts = map[string]int{
	"apsfields": 106, "calendarinterval": 59, "combining": 34, "cron5": 214, "cron6": 108, "crontab6": 42, "crontabext": 52, "date": 24,
	"disputed": 88, "disputedcalendar": 3, "disputedcombining": 5, "dst": 149, "interval": 58, "invalid": 138, "invalidcalendar": 8,
	"quartz": 105, "sieve": 60, "words": 21,
}

func rows(t *testing.T, name string) []row {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []row
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r row
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.ExprB64 != "" {
			raw, err := base64.StdEncoding.DecodeString(r.ExprB64)
			if err != nil {
				t.Fatalf("%s: %v", r.ID, err)
			}
			r.Expr = string(raw)
		}
		list = append(list, r)
	}
	if err := s.Err(); err != nil || len(list) != rowCounts[name] {
		t.Fatalf("%s: %d rows, want %d, %v", name, len(list), rowCounts[name], err)
	}
	return list
}

// parse reads the row's expression as a user would give it.
func (r row) parse(o trigger.ParseOptions) (ruqi.Trigger, error) {
	o.Zone = r.TZ
	kind := r.Dialect
	switch r.Dialect {
	case "cron5", "crontab":
		kind, o.Dialect = "cron", "crontab"
	case "cron6":
		kind, o.Dialect = "cron", "ruqi"
	case "apsfields":
		kind, o.Dialect = "cron", "fields"
	case "quartz":
		kind, o.Dialect = "cron", "quartz"
	}
	return trigger.Parse(kind, r.Expr, o)
}

func (r row) from(t *testing.T) time.Time {
	t.Helper()
	from, err := time.Parse(time.RFC3339Nano, r.From)
	if err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	return from
}

// fires binds a trigger at the row's from and returns its next fire times.
func (r row) fires(t *testing.T, trig ruqi.Trigger) []string {
	t.Helper()
	from := r.from(t)
	loc, err := trigger.LoadZone(r.TZ)
	if err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	bound, err := trig.(ruqi.Binder).Bind(loc, from, "")
	if err != nil {
		t.Fatalf("%s: bind: %v", r.ID, err)
	}
	return next(bound, from, r.N)
}

func next(trig ruqi.Trigger, after time.Time, n int) []string {
	list := []string{}
	for range n {
		at, ok := trig.Next(after)
		if !ok {
			break
		}
		list = append(list, at.Format(time.RFC3339Nano))
		after = at
	}
	return list
}

func TestGoldenVectors(t *testing.T) {
	for _, file := range []string{"cron5", "cron6", "apsfields", "quartz", "crontab6", "crontabext", "interval", "date"} {
		t.Run(file, func(t *testing.T) {
			for _, r := range rows(t, file) {
				trig, err := r.parse(trigger.ParseOptions{})
				if err != nil {
					t.Errorf("%s: %q: %v", r.ID, r.Expr, err)
					continue
				}
				if got := r.fires(t, trig); !slices.Equal(got, r.Want) {
					t.Errorf("%s: %q in %s after %s:\n got %v\nwant %v", r.ID, r.Expr, r.TZ, r.From, got, r.Want)
				}
			}
		})
	}
}

func TestClockChangesUnderEveryRule(t *testing.T) {
	options := map[string]trigger.ParseOptions{
		"gap_moved_to_end":   {Gap: "run_after"},
		"gap_moved_by_shift": {Gap: "shift"},
		"gap_skip":           {Gap: "skip"},
		"fold_hybrid":        {Fold: "auto"},
		"fold_once":          {Fold: "first"},
		"fold_twice":         {Fold: "both"},
	}
	asked := 0
	for _, r := range rows(t, "dst") {
		r.Variants["the default"] = r.Want
		for name, want := range r.Variants {
			o, known := options[name]
			if !known && name != "the default" {
				t.Fatalf("%s: unknown variant %s", r.ID, name)
			}
			trig, err := r.parse(o)
			if err != nil {
				t.Errorf("%s: %q: %v", r.ID, r.Expr, err)
				continue
			}
			if got := r.fires(t, trig); !slices.Equal(got, want) {
				t.Errorf("%s: %q in %s, %s:\n got %v\nwant %v", r.ID, r.Expr, r.TZ, name, got, want)
			}
			asked++
		}
	}
	const answers = 578 // of 149 rows and their variants
	if asked != answers {
		t.Errorf("%d answers were compared, want %d", asked, answers)
	}
}

func TestWrongExpressionsAreRefusedWithTheFieldNamed(t *testing.T) {
	for _, r := range rows(t, "invalid") {
		start := time.Now()
		trig, err := r.parse(trigger.ParseOptions{})
		took := time.Since(start)
		var invalid *ruqi.InvalidError
		switch {
		case err == nil:
			t.Errorf("%s: %q was accepted: %v", r.ID, r.Expr, trig)
		case !errors.As(err, &invalid) || !errors.Is(err, ruqi.ErrInvalid):
			t.Errorf("%s: %q: %T is no *ruqi.InvalidError", r.ID, r.Expr, err)
		case !strings.HasPrefix(invalid.Faults[0].Message, r.Field+": "):
			t.Errorf("%s: %q: %q does not name the field %s", r.ID, r.Expr, err, r.Field)
		}
		// 1 ms per KiB, with room for the race detector. On a loaded machine the fastest of some tries counts.
		most := time.Duration(1+len(r.Expr)>>10) * 20 * time.Millisecond
		for try := 0; try < 20 && took > most; try++ {
			start = time.Now()
			_, _ = r.parse(trigger.ParseOptions{}) // only how long it takes is asked
			took = time.Since(start)
		}
		if took > most {
			t.Errorf("%s: refusing %d bytes took %v", r.ID, len(r.Expr), took)
		}
	}
}

func TestDisputedExpressionsHaveTheAnswersOfTheDocumentedRules(t *testing.T) {
	// Where the others refuse or differ, Ruqi documents these as accepted.
	documented := map[string]string{
		"@every 5m": "an interval", "0 0 L * *": "the last day of the month",
		"day_of_week=mon-fri/2": "Monday, Wednesday, Friday", "month=jan-mar/2": "January and March",
		"second=59/1": "59 alone", "hour=22/2": "22 alone", "month=*/12": "January alone",
	}
	for _, r := range rows(t, "disputed") {
		trig, err := r.parse(trigger.ParseOptions{})
		if r.Want == nil {
			if _, accepted := documented[r.Expr]; accepted == (err != nil) {
				t.Errorf("%s: %q: accepted must be %v, got %v", r.ID, r.Expr, accepted, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %q: %v", r.ID, r.Expr, err)
			continue
		}
		if got := r.fires(t, trig); !slices.Equal(got, r.Want) {
			t.Errorf("%s: %q in %s after %s:\n got %v\nwant %v", r.ID, r.Expr, r.TZ, r.From, got, r.Want)
		}
	}
}
