package postgrestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stateOf returns a process's state as ps prints it, 0 if there is none.
func stateOf(pid int) byte {
	state, _ := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return state
}

// childrenOf returns the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("list processes: /proc has none: %w", err)
	}
	var children []int
	for _, file := range files {
		if state, parent := readStat(file); state != 0 && parent == pid {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				return nil, fmt.Errorf("list processes: %w", err)
			}
			children = append(children, child)
		}
	}
	return children, nil
}

// readStat reads state and parent from /proc/PID/stat: "PID (NAME) STATE PARENT …", where NAME
// may have any character. A state of 0 says that the process is gone.
func readStat(file string) (state byte, parent int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0, 0
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0
	}
	return fields[0][0], parent
}
