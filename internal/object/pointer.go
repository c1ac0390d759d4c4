package object

import "strings"

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the JSON pointer (RFC 6901) of nested names. Nobody else in this module escapes them.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(escape.Replace(name))
	}
	return b.String()
}
