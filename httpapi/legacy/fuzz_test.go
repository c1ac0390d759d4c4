package legacy_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
)

// FuzzRule tries that no rule panics, and that one that is taken is echoed in a form that means the same and is echoed as it is.
func FuzzRule(f *testing.F) {
	for _, seed := range [][2]string{
		{"cron", "* * * * * *"}, {"cron", "*/5 0-3/2 1,last * jan-mar mon"}, {"cron", "0 0 0 30 2 *"}, {"cron", "60 * * * * *"}, {"interval", "5m"}, {"interval", "0s"},
		{"interval", "999999999999d"}, {"date", "now"}, {"date", "2099-01-02 03:04:05.000001"}, {"date", "2099-02-30"}, {"date", "0001-01-01"}, {"date", "9999-12-31 23:59:59"}, {"every", "1h"},
	} {
		f.Add(seed[0], seed[1])
	}
	registry := newRegistry()
	zone := time.FixedZone("", 0)
	if loaded, err := time.LoadLocation("Asia/Shanghai"); err == nil {
		zone = loaded
	}
	h := legacy.New(legacy.Options{Registry: registry, Zone: zone})
	now := time.Date(2026, 11, 30, 1, 2, 3, 4000, time.UTC)
	f.Fuzz(func(t *testing.T, kind, rule string) {
		parsed, err := legacy.ParseRule(h, kind, rule, now)
		if err != nil {
			return
		}
		echo := legacy.EchoRule(h, parsed)
		again, err := legacy.ParseRule(h, kind, echo, now)
		if err != nil {
			t.Fatalf("%s %q is echoed as %q, which is refused: %v", kind, rule, echo, err)
		}
		if twice := legacy.EchoRule(h, again); twice != echo {
			t.Fatalf("%s %q is echoed as %q, then as %q", kind, rule, echo, twice)
		}
		after := now.Add(-24 * time.Hour)
		first, ok := parsed.Next(after)
		second, okAgain := again.Next(after)
		if ok != okAgain || !first.Equal(second) {
			t.Fatalf("%s %q fires at %v (%v), its echo %q at %v (%v)", kind, rule, first, ok, echo, second, okAgain)
		}
	})
}

// FuzzCommand tries that no command panics, and that one that is taken is shown as it was sent.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{"python /dev/null", "bash fuzz_test.go 'a b' \\x \"$HOME\"", "http://example.com/#{\"a\": 1}", "https://example.com", "http", "/topic#{}#1", "bash -c x", "python fuzz_test.go '", "#", ""} {
		f.Add(seed)
	}
	h := legacy.New(legacy.Options{Registry: newRegistry(), Zone: time.UTC})
	f.Fuzz(func(t *testing.T, cmd string) {
		task, err := legacy.ParseCommand(h, cmd)
		if err != nil {
			return
		}
		if !utf8.ValidString(cmd) || strings.ContainsRune(cmd, 0) {
			t.Fatalf("%q is taken", cmd)
		}
		if task.String() != cmd && !strings.Contains(task.String(), ruqi.Mask) {
			t.Fatalf("%q is shown as %q", cmd, task)
		}
	})
}

// FuzzHeader tries that no text makes more than one line of ASCII.
func FuzzHeader(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb: c", "名\x00\xff", strings.Repeat("\u2028", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := legacy.Line(text); strings.Trim(got, printable) != "" || len(got) > 600 {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
