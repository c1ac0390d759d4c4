package postgrestest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A recorder stands for a test that may fail. What it is not asked for, it does not have.
type recorder struct {
	testing.TB
	failed bool
	text   strings.Builder
	ends   []func()
}

// record runs a test to its end, its clean-up included, and returns what came of it.
func record(test func(testing.TB)) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.end()
		test(r)
	}()
	<-done
	return r
}

func (r *recorder) end() {
	for len(r.ends) > 0 {
		last := r.ends[len(r.ends)-1]
		r.ends = r.ends[:len(r.ends)-1]
		last()
	}
}

func (r *recorder) Helper()             {}
func (r *recorder) Attr(string, string) {}
func (r *recorder) Failed() bool        { return r.failed }
func (r *recorder) Cleanup(f func())    { r.ends = append(r.ends, f) }

func (r *recorder) Logf(format string, args ...any) {
	fmt.Fprintf(&r.text, format+"\n", args...)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
