package jobfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles bounds what is found: a hundred times as many as anybody keeps by hand.
const maxFiles = 100_000

// A finder follows paths to files.
type finder struct {
	files  []string
	met    int             // files and folders, those included that were seen before
	seen   map[string]bool // real paths of files and folders, so that none is read twice, however links lead to it
	faults []error
}

// Find returns the files that paths stand for, in their order: a path of a file, or "-", stands for itself, a folder for the
// *.yaml and *.yml in it and in the folders below it, by name. What begins with a dot is passed over there. Links are followed;
// a file to which several ways lead is read once. All faults are told at once.
func Find(paths []string) ([]string, error) {
	f := &finder{seen: map[string]bool{}}
	for _, path := range paths {
		f.named(path)
	}
	if len(f.files) > maxFiles {
		f.wrong(paths[0], "more than 100000 files")
	}
	return f.files, Join(f.faults)
}

func (f *finder) wrong(path, message string) {
	f.faults = append(f.faults, &Fault{File: path, Message: message})
}

// named takes a path that was given.
func (f *finder) named(path string) {
	if path == "-" {
		f.once("-", path)
		return
	}
	info, err := os.Stat(path)
	switch {
	case path == "":
		f.wrong("PATH", "empty")
	case err != nil:
		f.wrong(path, reason(err))
	case info.IsDir():
		before := f.met + len(f.faults)
		if f.folder(path); before == f.met+len(f.faults) {
			f.wrong(path, "there is no job file (*.yaml, *.yml) in it")
		}
	case !info.Mode().IsRegular():
		f.once(path, path) // a pipe of the shell has no other name
	default:
		f.file(path)
	}
}

// once takes a file that was not seen yet.
func (f *finder) once(real, path string) {
	f.met++
	if !f.seen[real] {
		f.seen[real] = true
		f.files = append(f.files, path)
	}
}

func (f *finder) file(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		f.wrong(path, reason(err))
		return
	}
	f.once(real, path)
}

// folder takes the files of a folder that was not looked at yet; a loop of links ends there.
func (f *finder) folder(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && f.seen[real] {
		f.met++
		return
	}
	f.seen[real] = true
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(path)
	}
	if err != nil {
		f.wrong(path, reason(err))
		return
	}
	for _, entry := range entries {
		child := filepath.Join(path, entry.Name())
		ext := filepath.Ext(child)
		fits := ext == ".yaml" || ext == ".yml"
		if strings.HasPrefix(entry.Name(), ".") || len(f.files) > maxFiles {
			continue
		}
		mode := entry.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := os.Stat(child)
			if err != nil && fits {
				f.wrong(child, reason(err))
			}
			if err != nil {
				continue
			}
			mode = info.Mode().Type()
		}
		switch {
		case mode.IsDir():
			f.folder(child)
		case !fits:
		case mode.IsRegular():
			f.file(child)
		default:
			f.wrong(child, "no regular file")
		}
	}
}

// reason is what the system says, without the path, which stands in front.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
