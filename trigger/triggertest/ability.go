package triggertest

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
)

// secondZone is the other zone in which a trigger is described: its days begin at other instants than those of zoneName.
const secondZone = "Asia/Tokyo"

// patientSearches is how often Search is asked to go on; for Next the triggers of this module make as many.
const patientSearches = 10

// farAway are instants at the ends of time, where an answer may be no but has to come.
var farAway = []time.Time{
	{}, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1600, 2, 29, 0, 0, 0, 0, time.UTC),
	time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Unix(1<<40, 0), time.Unix(-1<<40, 0),
}

// within notes a law about time when a question took longer than patience.
func (c *checker) within(law string, ask func()) {
	start := time.Now()
	ask()
	if took := time.Since(start); took > patience {
		c.breaks(law, "it took %v", took)
	}
}

// fires reports whether an instant is a fire time, by Next.
func (c *checker) fires(at time.Time) bool {
	got, ok := c.trigger.Next(at.Add(-time.Nanosecond))
	return ok && got.Equal(at)
}

// probes are the instants about which Matches and Explain are asked: fire times, and moments near and between them.
func (c *checker) probes() (list []time.Time) {
	for _, from := range instants {
		list = append(list, from)
		before := from
		for _, at := range c.walk(from) {
			list = append(list, at, at.UTC(), at.Add(-time.Nanosecond), at.Add(time.Microsecond), at.Add(time.Second),
				at.Add(time.Hour), at.AddDate(0, 0, 1), before.Add(at.Sub(before)/2))
			before = at
		}
	}
	return list
}

// searching follows Search to what Next gives, or beyond it where Next gives up.
func (c *checker) searching() {
	s, ok := c.trigger.(ruqi.Searcher)
	if !ok {
		return
	}
	for _, from := range append(c.probes(), farAway...) {
		want, found := c.trigger.Next(from)
		after := from
		for range patientSearches {
			var at, until time.Time
			var ok bool
			c.within("Search answers in bounded time", func() { at, until, ok = s.Search(after) })
			switch {
			case ok && !at.After(after), !ok && !until.IsZero() && !until.After(after):
				c.breaks("each answer of Search is strictly later than the question", "after %v came %v, or none up to %v", after, at, until)
				return
			case ok && found && !at.Equal(want), !ok && until.IsZero() && found, !ok && found && !until.Before(want):
				c.breaks("Search agrees with Next", "after %v Search found %v %t, having looked up to %v, and Next %v %t", after, at, ok, until, want, found)
				return
			}
			if after = until; ok || until.IsZero() {
				break
			}
		}
	}
}

func (c *checker) matching() {
	m, ok := c.trigger.(ruqi.Matcher)
	if !ok {
		return
	}
	for _, at := range append(c.probes(), farAway...) {
		var got bool
		c.within("Matches answers in bounded time", func() { got = m.Matches(at) })
		if want := c.fires(at); got != want {
			c.breaks("Matches agrees with Next", "Matches(%v) = %v, and Next asked just before says %v", at, got, want)
			return
		}
	}
}

func (c *checker) describing() {
	d, ok := c.trigger.(ruqi.Describer)
	if !ok {
		return
	}
	for _, in := range []ruqi.Language{ruqi.English, ruqi.Chinese} {
		var text string
		c.within("Describe answers in bounded time", func() { text = d.Describe(in) })
		switch {
		case text == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, "\r\n\t") || !utf8.ValidString(text):
			c.breaks("a description is one line of text without blanks around it", "%s: %q", in, text)
		case strings.HasSuffix(text, ".") || strings.HasSuffix(text, "。"):
			c.breaks("a description is a phrase without a full stop", "%s: %q", in, text)
		}
		if again := d.Describe(in); again != text {
			c.breaks("a description is the same each time", "%s: %q, then %q", in, text, again)
		}
		if decoded, err := c.decode([]byte(c.encode(c.trigger))); err == nil && decoded != nil {
			if other, ok := decoded.(ruqi.Describer); !ok || other.Describe(in) != text {
				c.breaks("a decoded trigger is described alike", "%s: %q is not what the decoded one says", in, text)
			}
		}
		c.describedByZone(in, text)
		if fresh, ok := c.newTrigger().(ruqi.Describer); ok && fresh.Describe(in) == "" {
			c.breaks("a trigger is described before it is bound, too", "%s: there is no text", in)
		}
	}
	english, chinese := d.Describe(ruqi.English), d.Describe(ruqi.Chinese)
	if !strings.ContainsFunc(chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		c.breaks("a Chinese description is Chinese", "%q", chinese)
	}
	if unknown := d.Describe("tlh"); unknown != english {
		c.breaks("in a language it does not know a trigger is described in English", "%q, but in English %q", unknown, english)
	}
}

// describedByZone compares with the description of the trigger in another zone, where that makes other fire times.
func (c *checker) describedByZone(in ruqi.Language, text string) {
	b, ok := c.newTrigger().(ruqi.Binder)
	if !ok {
		return
	}
	zone, err := time.LoadLocation(secondZone)
	if err != nil {
		c.breaks("the suite needs the zone "+secondZone, "%v", err)
		return
	}
	other, err := b.Bind(zone, anchor, "seed")
	if err != nil {
		return // what it is in this zone need not exist in another
	}
	for _, from := range instants {
		x, okX := c.trigger.Next(from)
		y, okY := other.Next(from)
		if okX == okY && x.Equal(y) {
			continue
		}
		if d, ok := other.(ruqi.Describer); ok && d.Describe(in) == text {
			c.breaks("a description names the zone where the zone matters", "%s: in %s and in %s it is %q", in, zoneName, secondZone, text)
		}
		return
	}
}

func (c *checker) explaining() {
	e, ok := c.trigger.(ruqi.Explainer)
	if !ok {
		return
	}
	for _, at := range append(c.probes(), farAway...) {
		var rulings []ruqi.Ruling
		c.within("Explain answers in bounded time", func() { rulings = e.Explain(at, ruqi.English) })
		fires := c.fires(at)
		switch {
		case fires && len(rulings) > 0:
			c.breaks("nothing rules a fire time out", "%v is one, and Explain says %v", at, rulings)
			return
		case !fires && len(rulings) == 0:
			c.breaks("something rules out what is no fire time", "%v is none, and Explain says nothing", at)
			return
		}
		for _, r := range rulings {
			if r.Part == "" || r.Message == "" || strings.ContainsAny(r.Part, " \t\r\n") || strings.ContainsAny(r.Message, "\r\n") {
				c.breaks("a ruling names the part and says why, in one line", "%v: %+v", at, r)
				return
			}
		}
		chinese := e.Explain(at, ruqi.Chinese)
		same := len(chinese) == len(rulings)
		for i := range min(len(chinese), len(rulings)) {
			same = same && chinese[i].Part == rulings[i].Part && chinese[i].Message != "" && !strings.ContainsAny(chinese[i].Message, "\r\n")
		}
		if !same {
			c.breaks("rulings are the same in every language, but for their words", "%v: %v in English, %v in Chinese", at, rulings, chinese)
			return
		}
	}
	if fresh, ok := c.newTrigger().(ruqi.Explainer); ok {
		fresh.Explain(instants[0], ruqi.Chinese) // must not panic
	}
}
