package object

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Without is a value of maps and lists without the parts that the JSON pointers lead to. Lists are as long as they were, with null in
// place of what is left out, so that pointers stay. The value itself is not changed.
func Without(value any, parts []string) any { return without(value, "", parts) }

func without(value any, pointer string, parts []string) any {
	if slices.Contains(parts, pointer) {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		rest := make(map[string]any, len(v))
		for name, member := range v {
			if below := pointer + Pointer(name); !slices.Contains(parts, below) {
				rest[name] = without(member, below, parts)
			}
		}
		return rest
	case []any:
		rest := make([]any, len(v))
		for i, item := range v {
			rest[i] = without(item, pointer+Pointer(strconv.Itoa(i)), parts)
		}
		return rest
	}
	return value
}

// TextWithout is Without for a JSON text; nil for what is none.
func TextWithout(data []byte, parts []string) []byte {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // numbers pass through as they were written
	if d.Decode(&value) != nil {
		return nil
	}
	rest, err := json.Marshal(Without(value, parts))
	if err != nil {
		return nil // it was read, so this is never reached
	}
	return rest
}
