package command

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/ruqi-dev/ruqi"
)

const (
	// saidBegin begins a line by which a program tells of its run.
	saidBegin = "::ruqi "
	// mostSaid is how long such a line may be: a result, and some room for the words before it and blanks within.
	mostSaid = ruqi.MaxResult + 1<<10 // bytes
)

// A said hands on what a program writes, and hears the lines by which it tells of its run. Write is called by one goroutine at a time.
type said struct {
	out io.Writer
	to  ruqi.Reporter

	held  []byte // the line so far, which may be one of those
	other bool   // within a line that is none; else at the beginning of a line, or in the one that is held
	fault string // what was wrong with the first that could not be taken
}

// hear puts itself before the execution's output, if somebody asks what the program tells.
func hear(execution *ruqi.Execution) *said {
	if execution.Reporter == nil {
		return nil
	}
	s := &said{out: execution.Output, to: execution.Reporter}
	execution.Output = s
	return s
}

// Write implements io.Writer: all of it is output.
func (s *said) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	s.look(p)
	return n, err
}

var saidNext = []byte("\n" + saidBegin)

// look finds the lines in what comes next.
func (s *said) look(p []byte) {
	for len(p) > 0 {
		if s.other {
			p = s.skip(p)
			continue
		}
		part := p
		end := bytes.IndexByte(p, '\n')
		if end >= 0 {
			part = p[:end]
		}
		switch {
		case !s.mayGoOn(part), end >= 0 && len(s.held)+end < len(saidBegin):
			s.held, s.other = s.held[:0], true
		case len(s.held)+len(part) > mostSaid:
			s.refuse("a line that begins with ::ruqi is too long")
			s.held, s.other = s.held[:0], true
		case end < 0:
			s.held = append(s.held, part...)
			return
		default:
			if len(s.held) > 0 {
				s.held = append(s.held, part...)
				part = s.held
			}
			s.line(part)
			s.held = s.held[:0]
			p = p[end+1:]
		}
	}
}

// skip returns what follows of a line that is none, and of all like it.
func (s *said) skip(p []byte) []byte {
	if next := bytes.Index(p, saidNext); next >= 0 {
		s.other = false
		return p[next+1:]
	}
	// The last line may be the beginning of one.
	tail := p[max(0, len(p)-len(saidBegin)):]
	if last := bytes.LastIndexByte(tail, '\n'); last >= 0 {
		s.other = false
		return tail[last+1:]
	}
	return nil
}

// mayGoOn reports whether the line that is held, so far, may be one of those when it goes on with part.
func (s *said) mayGoOn(part []byte) bool {
	begin := saidBegin[min(len(s.held), len(saidBegin)):] // what is held has been looked at
	n := min(len(part), len(begin))
	return string(part[:n]) == begin[:n]
}

// end hears the last line, which may have no newline, and adds a note about what could not be taken.
func (s *said) end(result *ruqi.Result) {
	if s == nil {
		return
	}
	s.line(s.held)
	s.held = nil
	switch {
	case result.Note == "":
		result.Note = s.fault
	case s.fault != "":
		result.Note += "; " + s.fault
	}
}

// line does what a whole line says, if it is one of those.
func (s *said) line(line []byte) {
	rest, ok := bytes.CutPrefix(line, []byte(saidBegin))
	if !ok {
		return
	}
	word, rest := firstWord(rest)
	switch string(word) {
	case "progress":
		number, text := firstWord(rest)
		fraction, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			s.refuse("a line ::ruqi progress has no number")
			return
		}
		s.to.Progress(fraction, string(text))
	case "result":
		if err := s.to.SetResult(rest); errors.Is(err, ruqi.ErrInvalid) {
			s.refuse("a result was not taken: " + err.Error())
		}
	default:
		s.refuse("a line that begins with ::ruqi says neither progress nor result")
	}
}

func (s *said) refuse(why string) {
	if s.fault == "" {
		s.fault = why
	}
}

// firstWord parts a text at its first blank; those around the rest go, and so does a carriage return at its end.
func firstWord(text []byte) (word, rest []byte) {
	text = bytes.Trim(text, " \t\r")
	at := bytes.IndexAny(text, " \t")
	if at < 0 {
		return text, nil
	}
	return text[:at], bytes.TrimLeft(text[at:], " \t")
}
