package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// idle runs the service on a SQLite file with 100,000 jobs that are not due, and
// looks at its process from outside.
func idle(runs int) error {
	const jobs, window = 100_000, 20 * time.Second
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fill(filepath.Join(dir, "ruqi.db"), jobs); err != nil {
		return err
	}
	binary := filepath.Join(dir, "ruqi")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ruqi-dev/ruqi").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./cmd/ruqi")
	build.Dir = strings.TrimSpace(string(root))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the service: %w: %s", err, out)
	}
	var load, rss []float64
	for range runs {
		percent, mib, err := watch(binary, dir, window)
		if err != nil {
			return err
		}
		load, rss = append(load, percent), append(rss, mib)
	}
	row("service on SQLite: idle with 100,000 jobs not due, CPU % of one core", "not measurable", runs, spread("%.2f", load))
	row("the same, resident MiB", "under 60", runs, spread("%.0f", rss))
	return nil
}

// watch starts the service, lets it settle, and returns its CPU use over the window and its resident memory.
func watch(binary, dir string, window time.Duration) (percent, mib float64, err error) {
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", dir)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Signal(os.Interrupt), cmd.Wait())
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.Contains(line, "listening") {
		return 0, 0, fmt.Errorf("the service says %q: %w", line, err)
	}
	time.Sleep(5 * time.Second)
	before, err := ticks(cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(window)
	after, err := ticks(cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	mib, err = residentMiB(cmd.Process.Pid)
	return 100 * (after - before).Seconds() / window.Seconds(), mib, err
}

// ticks is the user and system time of a process; a tick is a hundredth of a second on every Linux.
func ticks(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func residentMiB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var total, resident float64
	if _, err := fmt.Sscan(string(data), &total, &resident); err != nil {
		return 0, err
	}
	return resident * float64(os.Getpagesize()) / (1 << 20), nil
}

// fill adds the jobs through the public call.
func fill(path string, jobs int) error {
	store, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return err
	}
	registry := ruqi.NewRegistry()
	trigger.Register(registry)
	command.Register(registry, command.Options{})
	s, err := ruqi.New(store, registry, ruqi.Options{Zone: time.UTC})
	if err != nil {
		return err
	}
	err = addJobs(s, jobs, func(i int) ruqi.JobSpec {
		return ruqi.JobSpec{ID: fmt.Sprintf("job-%06d", i), Trigger: trigger.Crontab("0 0 1 1 *"), Task: command.Shell("true")}
	})
	return errors.Join(err, store.Close())
}
