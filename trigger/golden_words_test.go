package trigger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestGoldenCalendarsAndWords(t *testing.T) {
	for _, file := range []string{"calendarinterval", "words", "disputedcalendar"} {
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

func TestWrongCalendarsAreRefusedWithTheFieldNamed(t *testing.T) {
	for _, r := range rows(t, "invalidcalendar") {
		_, err := r.parse(trigger.ParseOptions{})
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Faults[0].Message, r.Field+": ") {
			t.Errorf("%s: %q: got %v, want the field %s", r.ID, r.Expr, err, r.Field)
		}
	}
}
