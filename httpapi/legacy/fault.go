package legacy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

// The words of stat.
const (
	statOK        = "OK"
	statFailed    = "ERR"
	statBadParams = "ERR_BAD_PARAMS"
	statException = "ERR_SERVER_EXCEPTION"
)

// Reasons that clients' people know.
const (
	reasonTrigger   = "Job_trigger not in jobs_map"
	reasonRule      = "Job_rule not match"
	reasonScript    = "(scripts) Cmd does not meet expectations"
	reasonHTTP      = "(http) Cmd does not meet expectations"
	reasonTopic     = "topic commands are not configured"
	reasonParams    = "Param check failed"
	reasonException = "API Processing Exception"
	reasonNoNext    = "no next run time"
	reasonNoJob     = "job not found"
	reasonExists    = "job exists already"
)

// A fault is a failure as clients are told of it: the reason is one of a few, the detail says more to whoever looks.
type fault struct {
	status               int // of HTTP; 0: 200, as the original has it
	stat, reason, detail string
	allow                string // the methods that would do
}

func failed(stat, reason, format string, args ...any) *fault {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	return &fault{stat: stat, reason: reason, detail: detail}
}

func badParam(name, format string, args ...any) *fault {
	return failed(statBadParams, reasonParams, "%s: %s", name, fmt.Sprintf(format, args...))
}

func (f *fault) Error() string { return f.stat + ": " + f.reason + ": " + f.detail }

func (f *fault) httpStatus() int {
	if f.status == 0 {
		return http.StatusOK
	}
	return f.status
}

// explain makes of any error what a client is told. What is not its fault is told without its cause.
func explain(err error) *fault {
	var told *fault
	var invalid *ruqi.InvalidError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &invalid):
		return explainInvalid(invalid)
	case errors.Is(err, ruqi.ErrNotFound):
		return failed(statFailed, reasonNoJob, "%v", err)
	case errors.Is(err, ruqi.ErrExists):
		return failed(statFailed, reasonExists, "%v", err)
	case errors.Is(err, ruqi.ErrUnavailable):
		return failed(statException, reasonException, "the store does not answer; try again")
	}
	return failed(statException, reasonException, "the service's log says more")
}

// explainInvalid names what of a job is wrong by the first of its faults.
func explainInvalid(invalid *ruqi.InvalidError) *fault {
	stat, reason := statBadParams, reasonParams
	switch pointer := invalid.Faults[0].Pointer; {
	case pointer == "/trigger" || strings.HasPrefix(pointer, "/trigger/"):
		stat, reason = statFailed, reasonRule
	case pointer == "/task/call" || pointer == "/task/url":
		stat, reason = statFailed, reasonHTTP
	case pointer == "/task" || strings.HasPrefix(pointer, "/task/"):
		stat, reason = statFailed, reasonScript
	}
	return failed(stat, reason, "%s", invalid.Error())
}

// mostLine bounds a header of ours, in bytes: proxies commonly take 4 KiB of all of them.
const mostLine = 500

// line makes a text one line of printable ASCII, with escapes as of Go for all else: a header can hold it, and nothing in it can
// end the header.
func line(text string) string {
	var b strings.Builder
	for _, r := range text {
		part := string(r)
		if r < ' ' || r > '~' {
			part = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(part) > mostLine {
			b.WriteString("...")
			break
		}
		b.WriteString(part)
	}
	return b.String()
}
