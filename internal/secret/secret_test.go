package secret_test

import (
	"testing"

	"github.com/ruqi-dev/ruqi/internal/secret"
)

func TestNamesOfSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "x-api-KEY": true, "cookie": true, "Set-Cookie2": true, "db_password": true, "X-Hub-Signature": true, "sessionId": true,
		"Accept": false, "Content-Type": false, "": false, "name": false,
	} {
		if secret.Named(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestSplitPassword(t *testing.T) {
	for text, want := range map[string][3]string{
		"http://u:p@h/x":          {"http://u:", "p", "@h/x"},
		"http://u:p:q@r@h":        {"http://u:", "p:q@r", "@h"},
		"http://u@h":              {"http://u@h", "", ""},
		"http://u:@h":             {"http://u:@h", "", ""},
		"http://h/a:b@c":          {"http://h/a:b@c", "", ""},
		"postgres://u:p%40@h?x=y": {"postgres://u:", "p%40", "@h?x=y"},
		"no url: a@b":             {"no url: a@b", "", ""},
		"":                        {"", "", ""},
	} {
		before, password, after := secret.SplitPassword(text)
		if got := [3]string{before, password, after}; got != want {
			t.Errorf("%q is cut into %q, want %q", text, got, want)
		}
	}
}
