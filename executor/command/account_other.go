//go:build !unix

package command

import (
	"runtime"

	"github.com/ruqi-dev/ruqi"
)

// An account is what the system knows about a user; of other users than that of the service nothing is known here.
type account struct{ name, home, shell string }

// account refuses what this system has no way to do. The error is an *ruqi.InvalidError with pointers relative to the task.
func (t *Task) account() (*account, error) {
	var faults ruqi.Faults
	refuse := func(given bool, member string) {
		if given {
			faults.Add("/"+member, "", "a service on %s cannot set it; leave it out", runtime.GOOS)
		}
	}
	refuse(t.user != "", "user")
	refuse(t.umask != "", "umask")
	refuse(t.nice != 0, "nice")
	refuse(t.login, "login")
	refuse(!t.limits.none(), "limits")
	return nil, faults.Err()
}

// ownAccount returns nothing: there is no passwd.
func ownAccount() account { return account{} }

// promises returns nothing: where there is no passwd the service's environment is all there is.
func promises(func(string) string) map[string]string { return nil }
