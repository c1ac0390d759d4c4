package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// dataDirectory returns where the service keeps its things: as it was said, else /var/lib/ruqi
// for root, else below the user's state directory.
func (a *app) dataDirectory() (string, error) {
	switch home := a.Getenv("HOME"); {
	case a.dataDir != "":
		return a.dataDir, nil
	case a.Getenv("RUQI_DATA_DIR") != "":
		return a.Getenv("RUQI_DATA_DIR"), nil
	case os.Geteuid() == 0:
		return "/var/lib/ruqi", nil
	case filepath.IsAbs(a.Getenv("XDG_STATE_HOME")):
		return filepath.Join(a.Getenv("XDG_STATE_HOME"), "ruqi"), nil
	case home != "":
		return filepath.Join(home, ".local", "state", "ruqi"), nil
	case os.PathSeparator == '\\' && a.Getenv("LocalAppData") != "":
		return filepath.Join(a.Getenv("LocalAppData"), "ruqi"), nil
	}
	return "", usage("--data-dir: there is no home directory to put it in; say where the service shall keep its data")
}

// makeDataDirectory makes the directory, for its owner alone, where there is none. One in which others can
// write is refused: they could put a token or a database of their own there.
func makeDataDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the data directory: %w; --data-dir or RUQI_DATA_DIR says where it shall be", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o022 != 0 {
		return fmt.Errorf("others can write in the data directory %s (mode %v), and so put a token of their own there: chmod go-w %s, or name another with --data-dir or RUQI_DATA_DIR", dir, mode, dir)
	}
	return nil
}

func databasePath(dir string) string { return filepath.Join(dir, "ruqi.db") }
