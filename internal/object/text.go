package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errNoObject = &SyntaxError{"not a JSON object"}
	errMore     = &SyntaxError{"more than one JSON value"}
	errNotUTF8  = &SyntaxError{"not UTF-8"}
)

// Check reports every member, at any depth of a text, that stands twice in its object. The error is a *SyntaxError for
// what is not one JSON value of whole characters.
func Check(data []byte, report Report) error {
	if err := checkText(data); err != nil {
		return err
	}
	doubles(data, report)
	return nil
}

// checkText refuses what is not one JSON value in UTF-8 of which every character is whole.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	var whole json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&whole); err != nil {
		if errors.Is(err, io.EOF) {
			return &SyntaxError{"not JSON: there is nothing"}
		}
		return &SyntaxError{fmt.Sprintf("not JSON: %v", err)}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return halves(whole)
}

// halves refuses escapes of half a character (\ud800 without \udc00 behind it) in valid JSON: no text holds one, so
// another character would take its place.
func halves(data []byte) error {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++ // past what is escaped
		if data[i] != 'u' {
			continue
		}
		first := unit(data[i-1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		if second := unit(data[i+1:]); utf16.DecodeRune(first, second) == utf8.RuneError {
			return &SyntaxError{fmt.Sprintf("\\u%04x is half a character without its other half", first)}
		}
		i += 6
	}
	return nil
}

// unit returns the code unit of an escape such as \u00e9 that data begins with; 0 where there is none.
func unit(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// A level is an object or a list that is open.
type level struct {
	seen map[string]bool // of an object
	name string          // of the member that is being read
	n    int             // of a list: the item that is being read
	key  bool            // of an object: a name is next
}

// doubles reports the members of valid JSON that stand twice in their object, at any depth.
func doubles(data []byte, report Report) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // none is looked at
	var open []level
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		top := len(open) - 1
		if delim, is := token.(json.Delim); is {
			switch delim {
			case '{':
				open = append(open, level{seen: map[string]bool{}, key: true})
				continue
			case '[':
				open = append(open, level{})
				continue
			}
			open = open[:top]
			top--
		} else if top >= 0 && open[top].key {
			name := token.(string) // the decoder hands out names as strings only
			open[top].name, open[top].key = name, false
			if open[top].seen[name] {
				report(where(open), "", givenTwice)
			}
			open[top].seen[name] = true
			continue
		}
		if top >= 0 { // a value has ended
			open[top].n++
			open[top].key = open[top].seen != nil
		}
	}
}

func where(open []level) string {
	names := make([]string, len(open))
	for i, l := range open {
		if names[i] = l.name; l.seen == nil {
			names[i] = strconv.Itoa(l.n)
		}
	}
	return Pointer(names...)
}
