package duration_test

import (
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/duration"
)

// What people and other programs write is answered with its spelling here.
func TestALengthInOtherWordsIsAnsweredWithItsSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"10": "10s", "10mn": "10m", "10 min": "10m", "10 minutes": "10m", "1 hour 30 mins": "1h30m", "1hr": "1h", "2 days": "2d", "3 Weeks": "3w", "90 S": "90s",
		"5sec": "5s", "PT10M": "10m", "PT1H30M": "1h30m", "P1D": "1d", "1.5 hours": "1.5h", "200 msec": "200ms", "1 hour and 5 minutes": "1h5m", "1h, 5m": "1h5m",
		"+10s": "10s", "-10s": "", "ten": "", "1:30": "", "10x": "", "": "", "s": "", "5 fortnights": "", "1 month": "", "P1M": "",
	} {
		_, err := duration.Parse(text)
		if err == nil {
			t.Errorf("%q is read", text)
			continue
		}
		_, told, _ := strings.Cut(err.Error(), "did you mean ")
		if want != "" {
			want = `"` + want + `"?`
		}
		if told != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"90s", "1h30m", "10 min", "PT1H", "\xff", "1e9s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := duration.Parse(text)
		if err == nil {
			return
		}
		_, told, found := strings.Cut(err.Error(), `did you mean "`)
		if told = strings.TrimSuffix(told, `"?`); found && !strings.Contains(text, "did you mean") {
			if _, err := duration.Parse(told); err != nil {
				t.Errorf("%q is answered with %q, which is none: %v", text, told, err)
			}
		}
	})
}
