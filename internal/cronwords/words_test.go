package cronwords_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi/internal/cronwords"
)

// The phrases of whole expressions, dialect by dialect, are tried in package trigger.

func TestAFieldLeftOutIsOpen(t *testing.T) {
	e := cronwords.Read(cronwords.Fields{Minute: "30", Hour: "2"})
	if en, zh := string(e.English(nil)), string(e.Chinese(nil)); en != "at 02:30 every day" || zh != "在每天的 02:30" {
		t.Errorf("got %q and %q", en, zh)
	}
}

func TestTheFirstDayOfTheWeekDecidesAboutSteps(t *testing.T) {
	for _, c := range []struct {
		mondayFirst bool
		weekday     string
		want        string
	}{
		{false, "*/2", "at 00:00 on Tuesday, Thursday, Saturday and Sunday"},
		{true, "*/2", "at 00:00 on Monday, Wednesday, Friday and Sunday"},
		{false, "fri/1", "at 00:00 on Friday and Saturday"},
		{true, "fri/1", "at 00:00 on Friday to Sunday"},
		{false, "fri-mon/2", "at 00:00 on Friday and Sunday"},
	} {
		e := cronwords.Read(cronwords.Fields{Minute: "0", Hour: "0", Weekday: c.weekday, MondayFirst: c.mondayFirst})
		if got := string(e.English(nil)); got != c.want {
			t.Errorf("%s, Monday first %v: got %q, want %q", c.weekday, c.mondayFirst, got, c.want)
		}
	}
}

func TestThePhraseIsAppended(t *testing.T) {
	e := cronwords.Read(cronwords.Fields{Minute: "*", Hour: "*"})
	if got := string(e.English([]byte("fires "))); got != "fires every minute" {
		t.Errorf("got %q", got)
	}
	if got := string(e.Chinese([]byte("触发："))); got != "触发：每分钟" {
		t.Errorf("got %q", got)
	}
}

// TestEveryFormIsSaid puts forms of all fields together at random: each has a phrase in both languages, without a
// doubled blank, an empty list or a number that is none.
func TestEveryFormIsSaid(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(forms ...string) string { return forms[random.IntN(len(forms))] }
	clock := []string{"*", "0", "7", "0,20,40", "1,2,3,9", "*/5", "3/7", "10-20", "1-19/4", "20-3", "H", "H/5", "H(2-7)", "H,3"}
	for range 20_000 {
		f := cronwords.Fields{
			Second: pick(append(clock, "", "0", "0")...), Minute: pick(clock...), Hour: pick(clock[:10]...),
			Day:     pick("*", "*", "?", "1", "1,15", "2-9", "*/3", "L", "L-3", "LW", "15W,L", "3rd fri", "last sun,1", "H", "H/9", "H,3", "28-2"),
			Month:   pick("*", "*", "1", "3,9", "1-3", "*/2", "11-2", "H"),
			Weekday: pick("*", "*", "mon-fri", "sun", "fri#2", "sunL,mon", "sat-mon", "*/2", "mon,wed", "H", "mon,H"),
			Week:    pick("", "*", "*", "1", "1-9", "*/2"), Year: pick("", "*", "*", "2027", "2027,2029", "2027-2030", "*/4", "2028/4", "2028-9999"),
			MondayFirst: random.IntN(2) == 0, Either: random.IntN(2) == 0,
		}
		e := cronwords.Read(f)
		for _, text := range []string{string(e.English(nil)), string(e.Chinese(nil))} {
			bad := text == "" || !utf8.ValidString(text) || strings.HasSuffix(text, " ") || strings.HasPrefix(text, " ")
			for _, mark := range []string{"  ", " ,", "的的", "，，", "-1", "、 ", "和、", " and and ", "of of"} {
				bad = bad || strings.Contains(text, mark)
			}
			if bad {
				t.Fatalf("seed %d: %s is said as %q", seed, fmt.Sprintf("%+v", f), text)
			}
		}
	}
}
