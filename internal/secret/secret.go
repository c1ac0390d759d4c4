// Package secret knows by their names what is not to be shown.
package secret

import (
	"slices"
	"strings"
)

// words are what the names of headers and members hold whose values are secret.
var words = []string{"auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token"}

// Named reports whether a name is one of secrets: Authorization, Cookie, X-Api-Key and the like, in any letters.
func Named(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// SplitPassword cuts a URL around its password, which is left as it was written. It is empty where the URL has none.
func SplitPassword(text string) (before, password, after string) {
	scheme, rest, found := strings.Cut(text, "//")
	if !found {
		return text, "", ""
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return text, "", ""
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	if password == "" {
		return text, "", ""
	}
	return scheme + "//" + user + ":", password, rest[at:]
}
