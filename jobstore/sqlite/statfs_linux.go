package sqlite

import "syscall"

// statfs returns the magic number of the file system that holds the path.
func statfs(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	// The field is 32 or 64 bits wide, and on some machines signed.
	return int64(uint32(s.Type)), nil
}
