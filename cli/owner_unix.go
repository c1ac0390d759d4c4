//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file is the user's as whom the program acts.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}
