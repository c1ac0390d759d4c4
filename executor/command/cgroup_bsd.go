//go:build unix && !linux

package command

import (
	"log/slog"
	"syscall"
)

// Control groups are Linux's.
type (
	cgroups struct{}
	cgroup  struct{}
)

func openCgroups(log *slog.Logger) *cgroups {
	log.Info("commands are found by their process group: this system has no control groups")
	return nil
}

func (*cgroups) make(int64, string) *cgroup       { return nil }
func (*cgroups) went(*cgroup)                     {}
func (*cgroups) failed(error)                     {}
func (*cgroups) release(*cgroup)                  {}
func (*cgroups) bound(_ *cgroup, l Limits) Limits { return l }
func (*cgroup) notes(Limits) []string             { return nil }
func (*cgroup) into(*syscall.SysProcAttr)         {}
func (*cgroup) members() map[int]bool             { return nil }
func (*cgroup) populated() bool                   { return false }
func (*cgroup) kill()                             {}
