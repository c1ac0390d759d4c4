package webhook

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/secret"
)

var _ ruqi.Masker = (*Task)(nil)

// Masked returns the task with ruqi.Mask in the place of the url's password and of the values of headers whose names say that
// they are secret: Authorization, Cookie, X-Api-Key and the like. Path, query and body are shown to whoever may look at jobs.
func (t *Task) Masked() ruqi.Task {
	c := *t
	if before, password, after := secret.SplitPassword(t.url); password != "" {
		c.setURL(before + ruqi.Mask + after)
	}
	c.headers = maps.Clone(t.headers)
	for name, value := range c.headers {
		if secret.Named(name) && value != "" { // nothing is no secret, and could not be kept
			c.headers[name] = ruqi.Mask
		}
	}
	return &c
}

// Unmasked returns the task with the secrets of stored where ruqi.Mask stands. They are for the place they were sent to: a task with
// another scheme, host or port, or another header Host, by which servers that share an address are told apart, must be given them anew.
func (t *Task) Unmasked(stored ruqi.Task) (ruqi.Task, error) {
	old, _ := stored.(*Task)
	var faults ruqi.Faults
	keep := func(pointer, value string) string {
		switch {
		case value == "":
			faults.Add(pointer, "", "%s stands for a secret that is not shown, and there is none to keep", ruqi.Mask)
		case !sameOrigin(old.url, t.url):
			faults.Add(pointer, "", "is kept only for the scheme, host and port it was given for; give it anew")
		case !strings.EqualFold(old.headers["Host"], t.headers["Host"]):
			faults.Add(pointer, "", "is kept only for the header Host it was given for; give it anew")
		}
		return value
	}
	if old == nil {
		old = &Task{}
	}
	c := *t
	if before, password, after := secret.SplitPassword(t.url); password == ruqi.Mask {
		_, kept, _ := secret.SplitPassword(old.url)
		pointer := "/url"
		if t.call != "" {
			pointer = "/call"
		}
		c.setURL(before + keep(pointer, kept) + after)
	}
	c.headers = maps.Clone(t.headers)
	for _, name := range slices.Sorted(maps.Keys(c.headers)) {
		if secret.Named(name) && c.headers[name] == ruqi.Mask {
			c.headers[name] = keep(object.Pointer("headers", name), old.headers[name])
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c.checked(), c.err
}

// setURL puts another url in the place of the task's, also of that in a call.
func (t *Task) setURL(text string) {
	if t.call != "" {
		t.call = text + t.call[len(t.url):]
	}
	t.url = text
}

func sameOrigin(a, b string) bool {
	left, errLeft := url.Parse(a)
	right, errRight := url.Parse(b)
	return errLeft == nil && errRight == nil && left.Scheme == right.Scheme && strings.EqualFold(left.Host, right.Host)
}
