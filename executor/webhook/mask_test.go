package webhook_test

import (
	"errors"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/webhook"
)

func jsonOf(t *testing.T, task ruqi.Task) string {
	t.Helper()
	data, err := task.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Of what is shown, the secrets alone are masked.
func TestMasked(t *testing.T) {
	for _, c := range []struct {
		name string
		task *webhook.Task
		want string
	}{
		{"none", webhook.Request("", "http://user@h/p@q:r?a=b:c@d"), `{"kind":"webhook","url":"http://user@h/p@q:r?a=b:c@d"}`},
		{"a password", webhook.Request("", "http://us%20er:p%40:s@h:1/p"), `{"kind":"webhook","url":"http://us%20er:********@h:1/p"}`},
		{"an empty password", webhook.Request("", "http://user:@h/"), `{"kind":"webhook","url":"http://user:@h/"}`},
		{"a call", webhook.Call(`http://u:p@h/#"#@:"`), `{"kind":"webhook","call":"http://u:********@h/#\"#@:\""}`},
		{"headers", webhook.Request("", "http://h").WithHeader("authorization", "a").WithHeader("Cookie", "b").WithHeader("X-Hub-Signature", "c").WithHeader("Accept", "d"),
			`{"kind":"webhook","url":"http://h","headers":{"Accept":"d","Authorization":"********","Cookie":"********","X-Hub-Signature":"********"}}`},
		{"an empty header", webhook.Request("", "http://h").WithHeader("X-Token", ""), `{"kind":"webhook","url":"http://h","headers":{"X-Token":""}}`},
	} {
		before := jsonOf(t, c.task)
		masked := c.task.Masked()
		if got := jsonOf(t, masked); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		if jsonOf(t, c.task) != before {
			t.Errorf("%s: masking changed the task itself", c.name)
		}
		back, err := masked.(ruqi.Masker).Unmasked(c.task)
		if err != nil || jsonOf(t, back) != before {
			t.Errorf("%s: sent back as it was shown, it is %v, %v", c.name, back, err)
		}
	}
}

// A masked value takes its secret from the stored task, where it goes to the same place, and from nowhere else.
func TestUnmaskedRefuses(t *testing.T) {
	given := webhook.Request("", "https://user:********@h:1/p").WithHeader("X-Token", ruqi.Mask).WithHeader("Accept", ruqi.Mask)
	for _, c := range []struct {
		name     string
		stored   ruqi.Task
		pointers []string
	}{
		{"nothing stored", nil, []string{"/url", "/headers/X-Token"}},
		{"another kind", ruqi.Call("f", nil), []string{"/url", "/headers/X-Token"}},
		{"no such header", webhook.Request("", "https://user:p@h:1").WithHeader("X-Key", "a"), []string{"/headers/X-Token"}},
		{"another scheme", webhook.Request("", "http://user:p@h:1").WithHeader("X-Token", "a"), []string{"/url", "/headers/X-Token"}},
		{"another host", webhook.Request("", "https://user:p@i:1").WithHeader("X-Token", "a"), []string{"/url", "/headers/X-Token"}},
		{"another port", webhook.Request("", "https://user:p@h").WithHeader("X-Token", "a"), []string{"/url", "/headers/X-Token"}},
		{"another Host", webhook.Request("", "https://user:p@h:1").WithHeader("X-Token", "a").WithHeader("host", "i"), []string{"/url", "/headers/X-Token"}},
		{"the same place", webhook.Request("PUT", "https://other:p@H:1/q").WithHeader("X-Token", "a"), nil},
	} {
		task, err := given.Unmasked(c.stored)
		var invalid *ruqi.InvalidError
		if errors.As(err, &invalid) != (c.pointers != nil) || err != nil && len(invalid.Faults) != len(c.pointers) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, pointer := range c.pointers {
			if invalid.Faults[i].Pointer != pointer {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if c.pointers == nil {
			if got, want := jsonOf(t, task), `{"kind":"webhook","url":"https://user:p@h:1/p","headers":{"Accept":"********","X-Token":"a"}}`; got != want {
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
}
