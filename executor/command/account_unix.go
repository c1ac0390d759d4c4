//go:build unix

package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/ruqi-dev/ruqi"
)

// An account is what the system knows about a user.
type account struct {
	name, home, shell string
	uid               int
	// credential is what a process of the user is started with; nil where that is the user of the service.
	credential *syscall.Credential
}

// account looks up whose process the task is and in whose environment; nil: of the service and in the service's. The
// error is an *ruqi.InvalidError with a pointer relative to the task.
func (t *Task) account() (*account, error) {
	if t.user == "" {
		if !t.login {
			return nil, nil
		}
		own := ownAccount()
		return &own, nil
	}
	entry, err := user.Lookup(t.user)
	if err != nil {
		if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
			return nil, ruqi.Invalid("/user", t.user, "there is no user %q on this machine", t.user)
		}
		return nil, ruqi.Invalid("/user", t.user, "the user %q cannot be looked up: %v", t.user, err)
	}
	a := describe(entry, 0, entry.Username)
	if a.uid == os.Geteuid() {
		return &a, nil
	}
	if os.Geteuid() != 0 {
		return nil, ruqi.Invalid("/user", t.user, "this service runs as %q; only one that runs as root can run a command as another user", ownAccount().name)
	}
	if a.credential, err = credentialOf(entry); err != nil {
		return nil, ruqi.Invalid("/user", t.user, "the user %q: %v", t.user, err)
	}
	return &a, nil
}

// credentialOf returns the user's id, group and supplementary groups.
func credentialOf(entry *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(entry.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("its id %q is no number", entry.Uid)
	}
	gid, err := strconv.ParseUint(entry.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("its group %q is no number", entry.Gid)
	}
	ids, err := entry.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("its groups cannot be looked up: %w", err)
	}
	groups := make([]uint32, 0, len(ids))
	for _, id := range ids {
		group, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("its group %q is no number", id)
		}
		groups = append(groups, uint32(group))
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}, nil
}

// ownAccount returns what the system knows about the user of this process. Without an entry (a container with a user
// id of its own) the name is the number.
func ownAccount() account {
	uid := strconv.Itoa(os.Getuid())
	entry, err := user.LookupId(uid)
	if err != nil {
		entry = &user.User{Uid: uid, Username: uid}
	}
	const idColumn = 2
	return describe(entry, idColumn, uid)
}

// describe completes an entry with the shell from the line of /etc/passwd that has a value in a column: os/user asks name services
// where it can, but knows no shell.
func describe(entry *user.User, column int, value string) account {
	a := account{name: entry.Username, home: entry.HomeDir, shell: DefaultShell}
	if uid, err := strconv.Atoi(entry.Uid); err == nil {
		a.uid = uid
	}
	if a.home == "" {
		a.home = "/"
	}
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return a
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 || fields[column] != value {
			continue
		}
		// Accounts of services have a shell that only refuses; no script can use it.
		if s := fields[6]; s != "" && !strings.HasSuffix(s, "/nologin") && !strings.HasSuffix(s, "/false") {
			a.shell = s
		}
		break
	}
	return a
}

// promises returns the variables that every command has and their values where the service has none.
func promises(have func(name string) string) map[string]string {
	own := ownAccount()
	name := own.name
	if given := have("LOGNAME"); given != "" {
		name = given
	}
	if given := have("USER"); given != "" {
		name = given
	}
	return map[string]string{"HOME": own.home, "USER": name, "LOGNAME": name, "SHELL": own.shell, "PATH": DefaultPath}
}
