//go:build unix

package cli

import (
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors keeps to this process what it was started with open beside its input and outputs, the lock of whoever started it for example.
// Commands would have it else, also those of other users, and those that outlive the service. What this program opens itself is
// kept so from the first.
func keepDescriptors() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil { // a system without a list of them
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > syscall.Stderr {
			syscall.CloseOnExec(fd)
		}
	}
}
