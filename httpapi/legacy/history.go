package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
)

const (
	// mostHistory is how many rows there are at most without a page_index: ten times what is kept of one job by default.
	mostHistory = 10_000
	// mostOutput is how many characters of an output are shown, outputBytes the most that they take.
	mostOutput  = 4096
	outputBytes = mostOutput * utf8.UTFMax
)

// A runRow is an execution as clients know it.
type runRow struct {
	ID        int64   `json:"id"`
	JobID     string  `json:"job_id"`
	JobName   string  `json:"job_name"`
	Cmd       string  `json:"cmd"`
	Success   bool    `json:"cmd_is_success"`
	Output    string  `json:"cmd_output"`
	Cost      seconds `json:"cmd_cost"`
	Scheduler string  `json:"scheduler_name"`
	Created   string  `json:"c_time"`
}

// seconds is a number that is written with its fraction always, so that readers take it for one.
type seconds float64

// MarshalJSON writes microseconds.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'f', 6, 64), nil
}

var _ json.Marshaler = seconds(0)

// history lists executions that have ended, the newest first.
func (h *Handler) history(ctx context.Context, p *params) (any, error) {
	offset, size, all, err := p.page()
	if err != nil {
		return nil, err
	}
	query := ruqi.RunQuery{Job: p.text("job_id"), Name: p.text("job_name"), Executed: true, Offset: offset, Limit: size}
	switch success := p.text("is_success"); success {
	case "":
	case "yes":
		query.States = []ruqi.RunState{ruqi.RunSucceeded}
	case "no":
		query.States = []ruqi.RunState{ruqi.RunFailed, ruqi.RunTimedOut, ruqi.RunCancelled, ruqi.RunLost}
	default:
		return nil, badParam("is_success", "neither yes nor no")
	}
	if all {
		query.Limit = ruqi.MaxPage
	}
	left := mostHistory
	read := func() ([]any, *int64, error) {
		page, err := h.Operations.Runs(ctx, query)
		if err != nil {
			return nil, nil, err
		}
		list := make([]any, len(page.Runs))
		for i := range page.Runs {
			if list[i], err = h.runRow(ctx, &page.Runs[i]); err != nil {
				return nil, nil, err
			}
		}
		query.Cursor, query.Offset = page.Next, 0
		left -= len(list)
		return list, page.Total, nil
	}
	list, total, err := read()
	if err != nil {
		return nil, err
	}
	found := &rows{total: int64(len(list)), list: list}
	if total != nil {
		found.total = *total
	}
	if all && query.Cursor != "" {
		found.more = func() ([]any, error) {
			if query.Cursor == "" || left <= 0 {
				return nil, nil
			}
			query.Limit = min(left, ruqi.MaxPage)
			list, _, err := read()
			return list, err
		}
	}
	return found, nil
}

func (h *Handler) runRow(ctx context.Context, run *ruqi.Run) (runRow, error) {
	row := runRow{
		ID: run.ID, JobID: run.JobID, JobName: run.JobName, Cmd: run.Task, Success: run.State == ruqi.RunSucceeded,
		Scheduler: schedulerName(run.Owner.Instance),
	}
	if run.Started != nil && run.Finished != nil {
		row.Cost = seconds(max(run.Finished.Sub(*run.Started), 0).Seconds())
	}
	if run.Finished != nil {
		row.Created = h.time(*run.Finished)
	}
	if run.OutputBytes > 0 {
		var err error
		if row.Output, err = h.output(ctx, run.ID); err != nil {
			return row, err
		}
	}
	return row, nil
}

// output returns the first characters of what a run wrote; nothing of one that was cleaned away since the page was read.
func (h *Handler) output(ctx context.Context, run int64) (string, error) {
	var text []byte
	for len(text) < outputBytes {
		part, err := h.Operations.Output(ctx, run, int64(len(text)), outputBytes-len(text))
		if errors.Is(err, ruqi.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if part.At != int64(len(text)) || len(part.Bytes) == 0 { // what follows was not kept, or there is none
			break
		}
		text = append(text, part.Bytes...)
		if part.Ended {
			break
		}
	}
	return firstCharacters(text), nil
}

// firstCharacters returns the first of a text; NUL and bytes that are no UTF-8 become U+FFFD, as in other views of texts.
func firstCharacters(text []byte) string {
	if len(text) == outputBytes { // the end may be the begin of a character
		for i := 1; i < utf8.UTFMax; i++ {
			if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	clean := strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
	n := 0
	for at := range clean {
		if n == mostOutput {
			return clean[:at]
		}
		n++
	}
	return clean
}

// schedulerName writes the name of an instance as host:port:pid. What chance has added to it, to keep namesakes apart, is cut.
func schedulerName(instance string) string {
	parts := strings.Split(instance, ":")
	if n := len(parts); n >= 3 && len(parts[n-1]) == 6 && strings.Trim(parts[n-1], "abcdefghijklmnopqrstuvwxyz234567") == "" && strings.Trim(parts[n-2], "0123456789") == "" {
		return strings.Join(parts[:n-1], ":")
	}
	return instance
}
