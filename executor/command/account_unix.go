//go:build unix

package command

import (
	"bufio"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// promises returns the variables that every command has and their values where the service has none.
func promises(have func(name string) string) map[string]string {
	name, home, shell := account()
	if given := have("LOGNAME"); given != "" {
		name = given
	}
	if given := have("USER"); given != "" {
		name = given
	}
	return map[string]string{"HOME": home, "USER": name, "LOGNAME": name, "SHELL": shell, "PATH": DefaultPath}
}

// account returns what the system knows about the user of this process. Without an
// entry (a container with a user id of its own) the name is the number.
func account() (name, home, shell string) {
	uid := strconv.Itoa(os.Getuid())
	name, home, shell = uid, "/", DefaultShell
	// os/user asks name services where it can, but knows no shell.
	if entry, err := user.LookupId(uid); err == nil {
		name, home = entry.Username, entry.HomeDir
	}
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return name, home, shell
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 || fields[2] != uid {
			continue
		}
		// Accounts of services have a shell that only refuses; no script can use it.
		if s := fields[6]; s != "" && !strings.HasSuffix(s, "/nologin") && !strings.HasSuffix(s, "/false") {
			shell = s
		}
		break
	}
	if home == "" {
		home = "/"
	}
	return name, home, shell
}
