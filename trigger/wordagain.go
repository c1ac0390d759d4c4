package trigger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ruqi-dev/ruqi/internal/cronexpr"
)

// mostTurns bounds how often a suggestion is followed, to see where it leads: a text has seldom more than two slips.
const mostTurns = 6

// mostWords bounds the texts that are said in another way: seven days and a dozen of times, with commas, are fewer.
const mostWords = 48

// better returns the error of words that are not accepted with the nearest right spelling: at the place of the fault, or of the whole.
func better(text string, err error) error {
	var wrong *wordError
	if len(text) > longestText || !errors.As(err, &wrong) {
		return err
	}
	list := words(text)
	if len(list) > mostWords {
		if !wrong.heals(text) {
			wrong.instead = ""
		}
		return wrong
	}
	if other := foreign(text); other != nil {
		return other
	}
	if cron := asCron(text); cron != "" && len(list) > 0 {
		return &wordError{column: list[0].column, wanted: "these are no words: that is a kind cron" + cron, complete: true}
	} else if len(list) > 3 && slices.ContainsFunc(list, func(w word) bool { return w.text == "*" }) {
		_, err := cronexpr.Parse(cronexpr.Lookup(cronexpr.Crontab), text)
		return &wordError{wanted: fmt.Sprintf("these are no words, but look like a cron expression, and that has a fault: %v", err), complete: true}
	}
	if other := wrong.leaving(text, list); other != nil {
		return other
	}
	if other := elsewhere(list); other != nil {
		return other
	}
	if other := beside(text, list); other != nil {
		return other
	}
	if wrong.instead != "" {
		if whole, err := follow(text); err == nil {
			if right, ok := wrong.mend(text); ok {
				if _, _, err := readOnce(right); err != nil { // there is more than one slip
					wrong.whole, wrong.instead = whole, ""
				}
			}
			return wrong
		}
	}
	whole, other := again(text, list)
	switch {
	case whole != "":
		wrong.whole, wrong.instead = whole, ""
	case other != nil:
		return &wordError{column: wrong.column, wanted: other.wanted, complete: true}
	case !wrong.heals(text):
		wrong.instead = ""
	}
	return wrong
}

// inWords says of a text that should be a cron expression that it is words, and how they are written; empty for other texts.
func inWords(text string) string {
	list := words(text)
	if len(text) > longestText || len(list) > mostWords {
		return ""
	}
	switch other := foreign(text); {
	case other == nil:
	case other.whole != "":
		return fmt.Sprintf("these are words: that is a kind every, %s, at column %d", other.whole, other.column)
	default:
		return strings.Replace(other.Error(), "these are no words: that", "that", 1)
	}
	if len(list) == 0 || list[0].text[0] == '@' || strings.ContainsAny(text, "=*?") {
		return ""
	}
	if _, date := dateOf(list[0].text); !date && !strings.ContainsFunc(text, unicode.IsLetter) {
		return "" // fields that are too few
	}
	_, _, err := readOnce(text)
	if err == nil {
		return fmt.Sprintf("these are words: that is a kind every, %s, at column %d", strings.Join(strings.Fields(text), " "), list[0].column)
	}
	var wrong *wordError
	if !errors.As(better(text, err), &wrong) {
		return ""
	}
	switch whole, err := follow(text); {
	case wrong.whole != "":
		return fmt.Sprintf("these look like words: that is a kind every, %s, at column %d", wrong.whole, list[0].column)
	case err == nil && !wrong.complete:
		return fmt.Sprintf("these look like words: that is a kind every, %s, at column %d", whole, list[0].column)
	case slices.Contains([]string{"every", "each", "in", "at"}, list[0].text), wrong.complete && slices.ContainsFunc([]string{"a kind", ": say ", ": give "}, func(leads string) bool { return strings.Contains(wrong.wanted, leads) }):
		wrong.instead = "" // it alone does not make a cron expression of them
		return fmt.Sprintf("these look like words of kind every, and %v", wrong)
	}
	return ""
}

// follow reads a text, and once more with what is suggested in the place of what is wrong, as long as there is something. It returns the
// words as they are stored.
func follow(text string) (string, error) {
	var err error
	for range mostTurns {
		var s saying
		var until string
		if s, until, err = readOnce(text); err == nil {
			if s.form == formAt {
				return strings.Join(strings.Fields(text), " "), nil // as it was typed
			}
			if until != "" {
				return s.text() + " until " + until, nil
			}
			return s.text(), nil
		}
		var wrong *wordError
		if !errors.As(err, &wrong) || wrong.instead == "" {
			return "", err
		}
		right, ok := wrong.mend(text)
		if !ok {
			return "", err
		}
		text = right
	}
	return "", err
}

// mend puts what is suggested in its place.
func (e *wordError) mend(text string) (string, bool) {
	from := e.column - 1
	if from < 0 || from >= len(text) {
		return "", false
	}
	rest := text[from:]
	for i, read := range strings.Fields(e.read) { // of several words the blanks are lost
		if i > 0 {
			rest = strings.TrimLeft(rest, " \t\r\n")
		}
		if len(rest) < len(read) || !strings.EqualFold(rest[:len(read)], read) {
			return "", false
		}
		rest = rest[len(read):]
	}
	return text[:from] + e.instead + rest, true
}

// heals reports whether what is suggested is right in its place: then the text is read, or wrong only behind the next word: what
// stands beside it is part of it.
func (e *wordError) heals(text string) bool {
	right, ok := e.mend(text)
	if !ok {
		return e.instead == ""
	}
	var still *wordError
	_, _, err := readOnce(right)
	if !errors.As(err, &still) {
		return true
	}
	if first, _, _ := strings.Cut(e.read, " "); adverbs[first] != (adverb{}) {
		return false // monthly on monday
	}
	between := words(right[e.column-1+len(e.instead):])
	return still.column > e.column && (len(between) == 0 || still.column > e.column+len(e.instead)+between[0].column-1)
}

// again says the words once more as they are accepted, or returns the error that names another kind, which does what they say; neither,
// where it is not plain what was meant.
func again(text string, list []word) (whole string, other *wordError) {
	until := ""
	if i := slices.IndexFunc(list, func(w word) bool { return w.text == "until" || w.text == "till" }); i >= 0 && i+1 < len(list) {
		until, list = " until "+strings.TrimSpace(text[list[i+1].column-1:]), list[:i]
	}
	if once := onceAt(list); once != "" && until == "" {
		list = words(once)
	}
	plain := plainly(list)
	if s, ok := hourBeat(plain); ok {
		plain = strings.Fields(s.text())
	}
	whole, err := follow(strings.Join(plain, " ") + until)
	if err == nil {
		return whole, nil
	}
	var wrong *wordError
	if errors.As(err, &wrong) && wrong.complete && strings.Contains(wrong.wanted, "that is a kind") {
		return "", wrong
	}
	if s, ok := loosely(plain); ok {
		if whole, err = follow(s.text() + until); err == nil {
			return whole, nil
		}
	}
	if expr := inMonth(plain); expr != "" {
		return "", toldAt(word{column: 1}, "the words do not name the months of days: that is a kind cron, %s%s", expr, besideOf(words(until)))
	}
	return "", nil
}
