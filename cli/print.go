package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ruqi-dev/ruqi/wire"
)

func (a *app) print(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// printJSON writes a value as indented JSON.
func (a *app) printJSON(value any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// A table is rows of cells; the first is the head.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// printTable writes the table in columns. Cells are escaped: a name must not be able to
// move the cursor or to colour the screen.
func (a *app) printTable(t *table) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = escape(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-width(cell)+2))
			}
		}
		// The last cells of a row may be empty.
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		if err := a.print("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// escape replaces what would act on a terminal, marks that turn the direction of text
// included, by its escape in Go.
func escape(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// width returns how many columns of a terminal the text takes: two for the wide
// letters of East Asia and for pictures, none for what combines with the letter before.
func width(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
			r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
			n += 2
		default:
			n++
		}
	}
	return n
}

// shorten cuts a text to so many letters.
func shorten(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}

// clock shows a time in a zone, or a dash.
func clock(t *time.Time, zone *time.Location) string {
	if t == nil {
		return "-"
	}
	return wire.In(*t, zone).Format("2006-01-02 15:04:05.999999 -07:00")
}

// took shows a length of time to three digits or so.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// orDash shows an empty text as a dash.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
