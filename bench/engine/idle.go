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
	var load, rss, floor []float64
	for range runs {
		percent, mib, err := watch(binary, dir, window)
		if err != nil {
			return err
		}
		load, rss = append(load, percent), append(rss, mib)
		if percent, err = ticking(window); err != nil {
			return err
		}
		floor = append(floor, percent)
	}
	row("service on SQLite: idle with 100,000 jobs not due, CPU % of one core", "not measurable", runs, spread("%.3f", load))
	row("floor: a Go program that only wakes once a second", "", runs, spread("%.3f", floor))
	row("the idle service, resident MiB", "under 60", runs, spread("%.0f", rss))
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
	if percent, err = busy(cmd.Process.Pid, window); err != nil {
		return 0, 0, err
	}
	mib, err = residentMiB(cmd.Process.Pid)
	return percent, mib, err
}

// busy is how much of a core a process takes during the window, in percent.
func busy(pid int, window time.Duration) (float64, error) {
	before, err := runTime(pid)
	if err != nil {
		return 0, err
	}
	time.Sleep(window)
	after, err := runTime(pid)
	return 100 * (after - before).Seconds() / window.Seconds(), err
}

// tick wakes once a second, for as long as any window lasts.
func tick() {
	ticker := time.NewTicker(time.Second)
	for range 10 * 60 {
		<-ticker.C
	}
}

// ticking is what a Go program takes that does nothing but wake once a second: this one, started again.
func ticking(window time.Duration) (percent float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, "-tick")
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
	}()
	time.Sleep(2 * time.Second)
	return busy(cmd.Process.Pid, window)
}

// runTime is the time that the threads of a process have run, to the nanosecond, as the kernel's scheduler counts it.
func runTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("process %d: the kernel tells no schedstat", pid)
	}
	var total time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var ran time.Duration
		if _, err := fmt.Sscan(string(data), &ran); err != nil {
			return 0, err
		}
		total += ran
	}
	return total, nil
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
