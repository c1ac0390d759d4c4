package legacy

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/argv"
)

// How long the two kinds of commands may take.
const (
	scriptTime = time.Hour
	callTime   = 90 * time.Second
)

// programs start scripts without being allowed by a setting.
func programs() []string { return []string{"python", "python3", "bash"} }

// A work is what a command becomes: a task, and how long it may take.
type work struct {
	task  ruqi.Task
	limit time.Duration
}

// work reads a command. What kind it is of is in the text.
func (h *Handler) work(cmd string) (work, error) {
	switch {
	case strings.HasPrefix(cmd, "http") && utf8.ValidString(cmd):
		return h.decode(map[string]string{"kind": "webhook", "call": cmd, "answer": "json"}, reasonHTTP, callTime)
	case strings.HasPrefix(cmd, "/") && !h.isProgram(firstWord(cmd)):
		return work{}, failed(statFailed, reasonTopic, "a command that begins with a slash is a message to a queue topic; that of a script begins with its program, such as python3")
	}
	if err := h.checkScript(cmd); err != nil {
		return work{}, err
	}
	return h.decode(map[string]string{"kind": "command", "line": cmd}, reasonScript, scriptTime)
}

// checkScript looks at the first two words of a script: the program, and the file that it is to run.
func (h *Handler) checkScript(cmd string) error {
	words, err := argv.Split(cmd)
	wrong := func(format string, args ...any) error { return failed(statFailed, reasonScript, format, args...) }
	switch {
	case err != nil:
		return wrong("%v", err)
	case !utf8.ValidString(cmd): // JSON would put something else in its place
		return wrong("not UTF-8")
	case len(words) < 2:
		return wrong("at least two words are wanted, a program and a file")
	case !h.isProgram(words[0]):
		return wrong("the first word is none of %s", strings.Join(slices.Concat(programs(), h.Programs), ", "))
	case strings.HasPrefix(words[1], "-"):
		return wrong("the second word is an option; it is to be a file")
	}
	// Looked at as the program will see it: a relative path is below the folder that the service was started in.
	if info, err := os.Stat(words[1]); err != nil || !info.Mode().IsRegular() {
		return wrong("the second word is no file that exists")
	}
	return nil
}

// isProgram reports whether a script may be started by a word.
func (h *Handler) isProgram(word string) bool {
	return slices.Contains(programs(), word) || slices.Contains(h.Programs, word)
}

// firstWord returns what stands before the first blank.
func firstWord(cmd string) string {
	if end := strings.IndexAny(cmd, " \t"); end >= 0 {
		return cmd[:end]
	}
	return cmd
}

func (h *Handler) decode(shape map[string]string, reason string, limit time.Duration) (work, error) {
	data, err := json.Marshal(shape)
	if err != nil {
		return work{}, err
	}
	task, err := h.Registry.DecodeTask(data)
	var invalid *ruqi.InvalidError
	if errors.As(err, &invalid) {
		return work{}, failed(statFailed, reason, "%s", invalid.Error())
	}
	return work{task, limit}, err
}
