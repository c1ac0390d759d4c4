package command

import (
	"os/exec"
	"syscall"
)

// commandLine gives cmd.exe the text as it stands: it has its own way of reading quotes.
func commandLine(cmd *exec.Cmd, path, text string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: syscall.EscapeArg(path) + ` /d /s /c "` + text + `"`}
}
