package command

import (
	"bytes"
	"context"
	"maps"
	"syscall"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// longestSweep bounds the looks of one EndLost: what SIGKILL has not ended by then waits in the kernel.
const longestSweep = time.Second

// EndLost kills the processes on this machine that carry the mark of one of the runs in their environment, with all their
// descendants, and looks again until none is left or a second has passed. Runs that have no owner are passed over. It
// returns how many processes it ended.
func (e *Executor) EndLost(ctx context.Context, runs []ruqi.Run) int {
	lost := make(map[string]string, len(runs)) // mark to the job's entry
	var groups []string                        // directories of their control groups
	for i := range runs {
		if mark := markOf(&runs[i]); mark != "" {
			lost[mark] = jobName + "=" + runs[i].JobID
			if e.cgroups != nil {
				groups = append(groups, e.cgroups.name(runs[i].ID, mark))
			}
		}
	}
	if len(lost) == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, longestSweep)
	defer cancel()
	killed := map[status]struct{}{} // by id and start only
	var found []status
	for ctx.Err() == nil {
		members := map[int]bool{}
		for _, dir := range groups {
			maps.Copy(members, membersOf(dir))
		}
		found = withDescendants(processes(), map[int]uint64{}, found, func(s status) bool { return members[s.pid] || carries(environOf(s.pid), lost) })
		for _, s := range found {
			if s.signal(syscall.SIGKILL) {
				killed[status{pid: s.pid, start: s.start}] = struct{}{}
			}
		}
		if len(found) == 0 || !pause(killPause, ctx.Done(), nil) {
			break
		}
	}
	for _, dir := range groups {
		removeGroup(dir)
	}
	maps.DeleteFunc(killed, func(s status, _ struct{}) bool { return s.lives() })
	return len(killed)
}

// carries reports whether an environment has a lost run's mark and its job.
func carries(environ []byte, lost map[string]string) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if job, ok := lost[string(entry)]; ok && holds(environ, job) {
			return true
		}
	}
	return false
}
