package webhook_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/webhook"
)

// What every run would fail of is told when the task is given; a stored task is read all the same.
func TestWhatNoRequestCanHaveIsRefusedWhenItIsGiven(t *testing.T) {
	e := webhook.New(webhook.Options{Guarded: true})
	get := func(url string) *webhook.Task { return webhook.Request("GET", url) }
	for _, c := range []struct {
		task *webhook.Task
		want string // pointer and part of the message of each fault
	}{
		{webhook.Request("GTE", "http://example.com/"), `/method did you mean "GET"?`},
		{webhook.Request("PSOT", "http://example.com/"), `/method did you mean "POST"?`},
		{webhook.Request("DELET", "http://example.com/"), `/method did you mean "DELETE"?`},
		{webhook.Request("FOO", "http://example.com/"), "/method accepted are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS and QUERY, the others that are registered with IANA, and PURGE and BAN"},
		{webhook.Request("GTE", "http://127.0.0.1:0/"), "/method GET|/url not allowed|/url port"},
		{webhook.Request("PROPFIND", "http://example.com/"), ""},
		{webhook.Request("VERSION-CONTROL", "http://example.com/"), ""},
		{webhook.Request("PURGE", "http://example.com/"), ""},
		{webhook.Request("", "http://example.com/"), ""},
		{get("http://example.com:99999/"), "/url the port 99999 is none from 1 to 65535"},
		{get("http://example.com:/"), ""},
		{get("http://example.com:65535/"), ""},
		{webhook.Call("http://example.com:0/#{}"), "/call port"},
		{get("http://example.com/").WithHeader("host", "a b"), "/headers/Host no host"},
		{get("http://10.0.0.300/"), "/url 10.0.0.300 is no address, and no name"},
		{get("http://2130706433/"), "/url 2130706433 is no address, and no name"},
		{get("http://exa_mple..com/"), "/url exa_mple..com is no name of a host"},
		{get("http://-x.example.com/"), "/url -x.example.com is no name of a host"},
		{get("http://" + strings.Repeat("a", 64) + ".example.com/"), "/url is no name of a host"},
		{get("http://" + strings.Repeat("a.", 127) + "com/"), "/url is no name of a host"},
		{get("http://exa_mple.com./"), ""},
		{get("http://bücher.example/"), ""},
		{get("http://1.example/"), ""},
		{get("http://0xa/"), ""},
		{webhook.Request("HEAD", "http://example.com/").WithJSONAnswer(), "/answer no body"},
		{get("http://example.com/").WithJSONAnswer(), ""},
		{get("http://example.com/").WithHeader("host", "other.example:8080"), ""},
	} {
		var invalid *ruqi.InvalidError
		var got []ruqi.Fault
		if err := e.Vet(c.task); err != nil && !errors.As(err, &invalid) {
			t.Fatal(err)
		} else if err != nil {
			got = invalid.Faults
		}
		want := strings.Split(c.want, "|")
		if c.want == "" {
			want = nil
		}
		ok := len(got) == len(want)
		for _, one := range want {
			pointer, text, _ := strings.Cut(one, " ")
			ok = ok && slices.ContainsFunc(got, func(f ruqi.Fault) bool { return f.Pointer == pointer && strings.Contains(f.Message, text) })
		}
		if !ok {
			t.Errorf("%s: %v, want %q", c.task, got, c.want)
		}
		text, err := c.task.MarshalJSON()
		if err == nil {
			_, err = e.Decode(text)
		}
		if err != nil {
			t.Errorf("%s cannot be read when it is stored: %v", c.task, err)
		}
	}
	for expect, want := range map[string]string{"200,": `"200," has an empty part; `, "200,x": `"x" is no status`, "2xx-3xx": `"2xx-3xx"`} {
		if err := get("http://example.com/").WithExpect(expect).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expect, err, want)
		}
	}
	if err := webhook.Request("get", "http://example.com/").Err(); err == nil || !strings.Contains(fmt.Sprint(err), `did you mean "GET"?`) {
		t.Errorf("small letters: %v", err)
	}
}
