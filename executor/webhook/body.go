package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// placeholder stands for a param within a text of the body.
var placeholder = regexp.MustCompile(`\{\{ *([^{}]*?) *\}\}`)

// render returns the body of a run's request and its content type; nil: there is none.
func (t *Task) render(params json.RawMessage) (body []byte, contentType string, err error) {
	if t.call != "" {
		return t.body, "application/json", nil
	}
	var given map[string]any
	if len(params) > 0 {
		if err := decode(params, &given); err != nil {
			return nil, "", fmt.Errorf("params: %w", err)
		}
	}
	if t.body == nil {
		if len(given) == 0 {
			return nil, "", nil
		}
		body, err = encode(given)
		return body, "application/json", err
	}
	var value any
	if err := decode(t.body, &value); err != nil {
		return nil, "", err
	}
	room := maxRendered
	value = fill(value, given, &room)
	if room < 0 {
		return nil, "", fmt.Errorf("the body would be larger than %d MiB with its params", maxRendered>>20)
	}
	switch v := value.(type) {
	case string:
		return []byte(v), "text/plain; charset=utf-8", nil
	case map[string]any:
		for name, param := range given {
			v[name] = param
		}
	}
	body, err = encode(value)
	return body, "application/json", err
}

// decode reads JSON keeping its numbers as they are written.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// maxRendered bounds what params make of the texts of a body, in bytes: a body of 64 KiB may name a param of as much thousands of times.
const maxRendered = 1 << 20

// fill puts params in the place of the placeholders of all texts; names of members stay. room is how many bytes may still come from
// params; below 0 the value is good for nothing.
func fill(value any, params map[string]any, room *int) any {
	switch v := value.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(v, func(match string) string {
			if *room < 0 {
				return "" // what is good for nothing costs nothing more
			}
			text := textOf(params[placeholder.FindStringSubmatch(match)[1]])
			if *room -= len(text); *room < 0 {
				return ""
			}
			return text
		})
	case []any:
		for i := range v {
			v[i] = fill(v[i], params, room)
		}
	case map[string]any:
		for name := range v {
			v[name] = fill(v[name], params, room)
		}
	}
	return value
}

// textOf writes a param into a text: a text as it is, all else as JSON.
func textOf(param any) string {
	switch p := param.(type) {
	case nil:
		return ""
	case string:
		return p
	}
	text, err := encode(param)
	if err != nil {
		return ""
	}
	return string(text)
}
