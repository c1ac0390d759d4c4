package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := a.Stdout.Write(plainJSON(b.Bytes()))
	return err
}

// plainJSON writes >, < and & as themselves where the parts of a value came with escapes that are for web
// pages: a command is to be read, and copied.
func plainJSON(text []byte) []byte {
	plain := map[string]byte{`\u003e`: '>', `\u003c`: '<', `\u0026`: '&'}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if c, ok := plain[string(text[i:min(i+6, len(text))])]; ok {
			out = append(out, c)
			i += 5
			continue
		}
		out = append(out, text[i], text[i+1]) // a backslash that is escaped begins nothing
		i++
	}
	return out
}

// A table is rows of cells; the first is the head.
type table struct {
	rows [][]string
	// flexible is the column that gives way where the terminal is too narrow; 0: none.
	flexible int
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// lines adds a row for each line of a text, the label at the first.
func (t *table) lines(label, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		t.row(label, line)
		label = ""
	}
}

// leastWidth is what is left of a column that gives way.
const leastWidth = 16

// printTable writes the table in columns. Cells are escaped: a name must not be able to
// move the cursor or to colour the screen.
func (a *app) printTable(t *table) error {
	_, err := io.WriteString(a.Stdout, t.text(a.columns()))
	return err
}

// text lays the table out for that many columns; 0: as many as it takes.
func (t *table) text(columns int) string {
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
	if over := total(widths) - columns; columns > 0 && t.flexible > 0 && t.flexible < len(widths) && over > 0 {
		most := max(widths[t.flexible]-over, leastWidth)
		widths[t.flexible] = min(widths[t.flexible], most)
		for _, row := range t.rows {
			row[t.flexible] = shorten(row[t.flexible], most)
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-width(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ")) // the last cells of a row may be empty
		b.WriteByte('\n')
	}
	return b.String()
}

// total is the width of a line with two blanks between its cells.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// wideTerminal is taken for the width of a terminal that does not say how wide it is.
const wideTerminal = 200

// columns returns how wide the terminal is that the output goes to; 0 where it goes elsewhere and nothing
// may be cut.
func (a *app) columns() int {
	file, ok := a.Stdout.(*os.File)
	if !ok {
		return 0
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return 0
	}
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return wideTerminal
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

// shorten cuts a text to so many columns of a terminal.
func shorten(text string, most int) string {
	if width(text) <= most {
		return text
	}
	letters := []rune(text)
	for n := len(letters); n > 0; n-- {
		if cut := string(letters[:n]) + "…"; width(cut) <= most {
			return cut
		}
	}
	return "…"
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

// size shows a number of bytes.
func size(bytes int64) string {
	const kibi, mebi = 1 << 10, 1 << 20
	switch {
	case bytes < kibi:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < mebi:
		return fmt.Sprintf("%d KiB", bytes/kibi)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mebi)
}
