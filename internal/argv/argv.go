// Package argv splits a text into the arguments of a program as a POSIX shell splits its words, and quotes them so that they are split
// back. It does nothing else that a shell does: nothing is expanded, looked up or started, and what would end a command or connect two ($ ` * ~ ; | & < > #) is
// a character like any other.
package argv

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// What is wrong with a text that cannot be split.
var (
	ErrQuote     = errors.New("a quote is not closed")
	ErrBackslash = errors.New("a backslash stands at the end")
	ErrLine      = errors.New("a line ends outside of quotes; a shell would begin another command there")
)

// blanks may stand around the text; of them a space and a tab part words.
const blanks = " \t\r\n"

// Split returns the words of a text. Within single quotes every character stands for itself, within double quotes a backslash takes
// the meaning from $ ` " \ and the end of a line, elsewhere from whatever follows. A backslash before the end of a line joins it to
// the next. A text of blanks has no words.
func Split(text string) ([]string, error) {
	s := splitter{rest: strings.TrimLeft(text, blanks)}
	for s.rest != "" {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.end()
	return s.words, nil
}

// A splitter reads a text from its front.
type splitter struct {
	rest   string
	word   strings.Builder
	inWord bool // the word has begun, and may still be empty
	words  []string
}

// step reads one character, or all within a pair of quotes.
func (s *splitter) step() error {
	c := s.next()
	switch c {
	case ' ', '\t':
		s.end()
		return nil
	case '\r', '\n':
		if strings.Trim(s.rest, blanks) != "" {
			return ErrLine
		}
		s.rest = ""
		return nil
	case '\\':
		if s.rest == "" {
			return ErrBackslash
		}
		if follows := s.next(); follows != '\n' {
			s.add(follows)
		}
		return nil
	case '\'':
		within, rest, closed := strings.Cut(s.rest, "'")
		if !closed {
			return ErrQuote
		}
		s.word.WriteString(within)
		s.rest, s.inWord = rest, true
		return nil
	case '"':
		return s.double()
	}
	s.add(c)
	return nil
}

// double reads what stands within double quotes.
func (s *splitter) double() error {
	s.inWord = true
	for s.rest != "" {
		switch c := s.next(); {
		case c == '"':
			return nil
		case c == '\\' && s.rest != "" && strings.IndexByte("$`\"\\\n", s.rest[0]) >= 0:
			if follows := s.next(); follows != '\n' {
				s.word.WriteByte(follows)
			}
		default:
			s.word.WriteByte(c)
		}
	}
	return ErrQuote
}

func (s *splitter) next() byte {
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

// end ends the word, if one has begun.
func (s *splitter) end() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}

// Quote writes one argument as Split, and a POSIX shell, would read it back. One that needs no quotes has none.
func Quote(arg string) string {
	plain := func(r rune) bool {
		return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
