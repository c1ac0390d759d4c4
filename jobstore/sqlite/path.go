package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// fileURI names the file for SQLite whatever characters its path has. A file that is not there is not made: one that
// was removed under a store must not come back empty.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/… on Windows
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=rw"
}

// absolute makes the path of a file absolute.
func absolute(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", errors.New("sqlite: a path to a file is needed; for a store without a file use jobstore/memory")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: path %q: %w", path, err)
	}
	return abs, nil
}

// checkFolder looks whether a database can live in the folder of the path.
func checkFolder(abs string, statfs func(string) (int64, error)) error {
	dir := filepath.Dir(abs)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("sqlite: the folder %s does not exist; create it first", dir)
	case err != nil:
		return fmt.Errorf("sqlite: the folder %s cannot be read: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("sqlite: %s is not a folder", dir)
	}
	magic, err := statfs(dir)
	if err != nil {
		return fmt.Errorf("sqlite: the file system of %s cannot be told: %w", dir, err)
	}
	if name := networkFS[magic]; name != "" {
		return fmt.Errorf("sqlite: %s is on a network file system (%s), where locks of SQLite do not hold and data is lost; use a local disk, or a PostgreSQL store for several hosts", dir, name)
	}
	return nil
}

// createFile creates an empty file that only its owner may read, if there is none.
func createFile(abs string) error {
	// Only a file that is not there is opened: closing a file takes away all locks that
	// this process holds on it, those of another Store included.
	file, err := os.OpenFile(abs, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		if err := file.Close(); err != nil {
			return fmt.Errorf("sqlite: create %s: %w", abs, err)
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		_, err := findFile(abs)
		return err
	}
	return fmt.Errorf("sqlite: %s cannot be created: %w", abs, err)
}

// findFile reports whether the file is there; what is there and is no file is an error.
func findFile(abs string) (bool, error) {
	switch info, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sqlite: %s cannot be read: %w", abs, err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("sqlite: %s is not a regular file", abs)
	}
	return true, nil
}

// networkFS are the magic numbers of statfs(2) for file systems whose locks do
// not reach all hosts, or do not hold; from linux/magic.h and the file systems' own headers.
var networkFS = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xfe534d42: "SMB 2",
	0xff534d42: "CIFS",
	0x01021997: "9p",
	0x65735546: "FUSE, which may be sshfs, s3fs or another network file system",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x00c36400: "Ceph",
	0x73757245: "Coda",
	0x0bd00bd0: "Lustre",
	0x19830326: "BeeGFS",
	0x47504653: "GPFS",
	0x7461636f: "OCFS2",
	0x01161970: "GFS2",
	0x564c:     "NCP",
	0x786f4256: "a shared folder of VirtualBox",
	0xbacbacbc: "a shared folder of VMware",
}
