package crontab

import (
	"fmt"
	"strings"
)

// beginsVariable tells lines that set a variable from those that begin with a minute, by their first letter.
func beginsVariable(c byte) bool {
	return c == '_' || c == '"' || c == '\'' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// variable reads NAME=value as cron does: blanks around the = do not count, nor do those at the end of a value; outer quotes, which
// either side may have, are taken off; nothing is expanded.
func variable(text string) (name, value, fault string) {
	const form = "neither times and a command nor a variable, NAME=value"
	name, rest, ok := quoted(text)
	if !ok {
		end := strings.IndexAny(text, "="+blanks)
		if end < 0 {
			return "", "", form
		}
		name, rest = text[:end], text[end:]
	}
	rest = strings.TrimLeft(rest, blanks)
	value, found := strings.CutPrefix(rest, "=")
	if !found {
		return "", "", form
	}
	if !variableName(name) {
		return "", "", fmt.Sprintf("%q is no name of a variable: letters, digits and _ are, not beginning with a digit", name)
	}
	value = strings.Trim(value, blanks)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return name, value, ""
	}
	inner, rest, ok := quoted(value)
	switch {
	case !ok:
		return "", "", fmt.Sprintf("the value of %s begins with a quote that does not end", name)
	case rest != "":
		return "", "", fmt.Sprintf("%q stands after the closing quote of %s, where cron takes nothing", rest, name)
	}
	return name, inner, ""
}

// quoted takes a text in quotes from the front. Cron knows no escapes in it.
func quoted(text string) (inner, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return "", "", false
	}
	return text[1 : 1+end], text[2+end:], true
}

func variableName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
