package crontab_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/standard"
)

func FuzzRead(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.data, s.options.System, false)
	}
	for _, text := range []string{"", "\n", "\r\n\r", "@", "@every", "-", "* * * * *", "* * * * * %", `* * * * * \%\\%\%\`, "~~ * * * * x", "A='", "\"=", "\ufeff* * * * * x", "\x00", "SHELL=\n@every_minute x", "1,~ * * * * a%b%%c\\%\\"} {
		f.Add([]byte(text), false, true)
	}
	f.Add([]byte("0/1 0 1 1 sun 0\n7/2 1/2 1/1,3/4 2/3 0/2 x"), false, false)
	registry := standard.Registry(standard.Options{})
	f.Fuzz(func(t *testing.T, data []byte, system, monday bool) {
		o := crontab.Options{Source: "s", System: system}
		if monday {
			o.Dialect = "ruqi"
		}
		r := crontab.Read(data, o)
		lines := bytes.Count(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
		if rest := bytes.TrimPrefix(data, []byte("\ufeff")); len(rest) > 0 && rest[len(rest)-1] != '\n' {
			lines++
		}
		if r.Lines() != lines {
			t.Fatalf("%d lines, of which %d are accounted for", lines, r.Lines())
		}
		ids := map[string]bool{}
		for _, job := range r.Jobs {
			if ids[job.ID] {
				t.Fatalf("%s stands twice", job.ID)
			}
			ids[job.ID] = true
			if strings.ContainsAny(job.ID, "$`\"'\\ ;&|<>(){}*?[]~!#\n\r\t\x1b") {
				t.Fatalf("%q is no harmless id", job.ID)
			}
		}
		if before, after, w := goRound(t, registry, r, system); !slices.Equal(before, after) {
			t.Errorf("was\n\t%s\nis\n\t%s\n%s", strings.Join(before, "\n\t"), strings.Join(after, "\n\t"), w.Text)
		}
	})
}
