//go:build unix && !linux

package postgrestest

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// stateOf returns a process's state as ps prints it, 0 if there is none.
func stateOf(pid int) byte {
	text, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	state := strings.TrimSpace(string(text))
	if err != nil || state == "" {
		return 0
	}
	return state[0]
}

// childrenOf returns the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	text, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var children []int
	for line := range strings.Lines(string(text)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			children = append(children, child)
		}
	}
	return children, nil
}
