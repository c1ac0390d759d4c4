package object

import "strings"

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointer returns the JSON pointer (RFC 6901) of nested names. Nobody else in this module escapes them.
func Pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(escape.Replace(name))
	}
	return b.String()
}

// Names returns the nested names of a JSON pointer; none for the empty one.
func Names(pointer string) []string {
	below, nested := strings.CutPrefix(pointer, "/")
	if !nested {
		return nil
	}
	names := strings.Split(below, "/")
	for i, name := range names {
		names[i] = unescape.Replace(name)
	}
	return names
}

// Within reports whether the part that the JSON pointer below leads to is that of pointer, or in it.
func Within(pointer, below string) bool {
	rest, ok := strings.CutPrefix(below, pointer)
	return ok && (rest == "" || rest[0] == '/')
}
