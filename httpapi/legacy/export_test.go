package legacy

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// ParseRule reads a rule of a kind.
func ParseRule(h *Handler, kind, rule string, now time.Time) (ruqi.Trigger, error) {
	return h.trigger(kind, rule, now)
}

// EchoRule writes a trigger as clients are shown it.
func EchoRule(h *Handler, t ruqi.Trigger) string { return h.rule(t) }

// ParseCommand reads a command.
func ParseCommand(h *Handler, cmd string) (ruqi.Task, error) {
	work, err := h.work(cmd)
	return work.task, err
}

// Line makes a text fit to be a header.
func Line(text string) string { return line(text) }
