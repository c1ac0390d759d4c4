//go:build unix

package command_test

import (
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

// SR05: params do not change what is run, whatever their names and values.
func TestParamsDoNotChangeTheCommandLine(t *testing.T) {
	run := &ruqi.Run{Params: []byte(`{"argv":["false"],"command":"exit 7","shell":"/bin/false","env":{"X":"y"},"dir":"/","stdin":"z","path":"/none","text":"$(exit 7); exit 7"}`)}
	execute(t, command.Argv("echo", "$RUQI_PARAM_COMMAND", "a  b"), run).succeeded(t, "$RUQI_PARAM_COMMAND a  b\n")
	execute(t, command.Shell(`cat; echo "$X$RUQI_PARAM_TEXT"`).WithStdin("in "), run).succeeded(t, "in $(exit 7); exit 7\n")
}
