package postgrestest

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// A guard is a shell that outlives the test process for a moment. It holds the reading end of a
// pipe; when the writing end closes, because the test process has closed it or has died of
// whatever cause, it ends the server that it was told of and removes what is left of it.
//
// A signal at the parent's death (Linux, PR_SET_PDEATHSIG) would not reach a server that is
// paused, needs a thread that lives as long, and leaves the folder.
//
// The moment between the birth of a server and the guard's hearing of it is covered by PostgreSQL
// itself: without its folder it ends within a minute.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// guardScript reads lines of process ids: what runs now, the postmaster first, with its
// children if they are stopped. Only the last line counts. The first of it gets QUIT while it
// still stands, so that it does nothing else when it goes on. Postmasters end by themselves within
// 5 s of that (they kill children that do not hear); 10 s later nobody asks any more.
//
// Left are the folder and, of a server that was killed, the 56 bytes of System V shared memory that it
// has for a lock: line 7 of its lock file has key and id. A machine has room for 4096 of those.
// Where ipcrm is missing they stay.
const guardScript = `
pids=
while read -r line; do pids=$line; done
if [ -n "$pids" ]; then
  first=${pids%% *}
  kill -QUIT $first
  kill -CONT $pids
  n=0
  while kill -0 $first && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
  [ $n -lt 100 ] || kill -KILL $pids
fi
lock=$(sed -n 7p "$1/data/postmaster.pid")
[ -z "$lock" ] || ipcrm -m ${lock##* }
exec rm -rf -- "$1"
`

func newGuard(dir string) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "sh", dir)}
	g.cmd.Dir = "/"
	g.cmd.SysProcAttr = detached()
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return g, nil
}

// watch tells the guard what runs now: nothing, or a process and its stopped children.
func (g *guard) watch(pids ...int) error {
	if _, err := io.WriteString(g.in, strings.Trim(fmt.Sprint(pids), "[]")+"\n"); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// end makes the guard do its work, and waits for it.
func (g *guard) end() error {
	if err := g.in.Close(); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("remove the server's folder: %w", err)
	}
	return nil
}
