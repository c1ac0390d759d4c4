//go:build unix

package postgrestest

import (
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// account is who runs the server: PostgreSQL refuses to be run by root, so for root it is the
// user postgres, or nobody; for others nil, which is themselves.
var account = sync.OnceValue(func() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
})

// give makes a file or folder belong to who runs the server.
func give(path string) error {
	if who := account(); who != nil {
		return os.Chown(path, int(who.Uid), int(who.Gid))
	}
	return nil
}

// detached is for a process that no signal to our group reaches, as those of a terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// unprivileged is for PostgreSQL's own programs.
func unprivileged() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: account()}
}

// send sends a signal to processes. Those that are gone need none.
func send(signal syscall.Signal, pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// alive reports whether a process is there and has not ended; one that nobody has reaped has.
func alive(pid int) bool {
	state := stateOf(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// stopped reports whether a process stands by SIGSTOP.
func stopped(pid int) bool { return stateOf(pid) == 'T' }
