//go:build !unix && !windows

package command

import "os/exec"

// commandLine has nothing to do where arguments are a list.
func commandLine(*exec.Cmd, string, string) {}
