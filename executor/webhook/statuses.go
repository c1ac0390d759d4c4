package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// statuses is a range of HTTP statuses, both ends included.
type statuses struct{ from, to int }

// parseStatuses reads a list such as "2xx", "200,202" or "200-204,304".
func parseStatuses(text string) ([]statuses, error) {
	var list []statuses
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			return nil, fmt.Errorf("%q has an empty part; accepted are such as 2xx, 200,304 and 200-204", text)
		}
		low, high, isRange := strings.Cut(part, "-")
		if class, found := strings.CutSuffix(strings.ToLower(part), "xx"); found {
			if _, err := status(class + "00"); err != nil {
				return nil, noStatus(part)
			}
			low, high, isRange = class+"00", class+"99", true
		}
		if !isRange {
			high = low
		}
		from, err := status(low)
		if err != nil {
			return nil, err
		}
		to, err := status(high)
		if err != nil {
			return nil, err
		}
		if to < from {
			return nil, fmt.Errorf("%s ends before it begins", part)
		}
		list = append(list, statuses{from, to})
	}
	return list, nil
}

// status reads a final status: 1xx never ends a request.
func status(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || n < 200 || n > 599 {
		return 0, noStatus(text)
	}
	return n, nil
}

func noStatus(text string) error {
	return fmt.Errorf("%q is no status from 200 to 599, nor a class such as 2xx", text)
}

// expects reports whether a status counts as success.
func (t *Task) expects(status int) bool {
	for _, s := range t.want {
		if s.from <= status && status <= s.to {
			return true
		}
	}
	return false
}

func canonicalName(name string) string { return http.CanonicalHeaderKey(name) }
