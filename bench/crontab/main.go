// Command crontab measures how long the built program takes to make jobs of a large crontab on a service with SQLite, as a user
// would: to add them, and to find that nothing changed.
//
//	go run ./crontab -lines 10000 -rounds 5
//
// Each round has a service of its own with an empty data directory. It prints the median (lowest-highest) of the rounds.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	lines := flag.Int("lines", 10000, "lines of the crontab")
	rounds := flag.Int("rounds", 5, "rounds")
	flag.Parse()
	if err := report(os.Stdout, *lines, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "crontab:", err)
		os.Exit(1)
	}
}

func report(w io.Writer, lines, rounds int) error {
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "ruqi")
	build := exec.Command("go", "-C", "..", "build", "-buildvcs=false", "-o", program, "./cmd/ruqi")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	table := filepath.Join(dir, "table")
	if err := os.WriteFile(table, []byte(crontab(lines)), 0o600); err != nil {
		return err
	}
	var first, again []time.Duration
	var cpu time.Duration
	for round := range rounds {
		added, unchanged, used, err := measure(program, table, filepath.Join(dir, fmt.Sprint(round)), lines)
		if err != nil {
			return err
		}
		cpu += used
		first, again = append(first, added), append(again, unchanged)
	}
	fmt.Fprintf(w, "%s, %d CPUs, %d lines, %d rounds\n\n", runtime.Version(), runtime.NumCPU(), lines, rounds)
	show(w, "all are new", first, lines)
	show(w, "none changed", again, lines)
	fmt.Fprintf(w, "CPU of program and service in both: %.0f us a line\n", float64(cpu.Microseconds())/float64(lines*rounds))
	return nil
}

// crontab writes lines of many times and programs, with variables between.
func crontab(lines int) string {
	var b strings.Builder
	b.WriteString("MAILTO=ops\nPATH=/usr/local/bin:/usr/bin:/bin\n")
	for i := range lines {
		if i%1000 == 0 {
			fmt.Fprintf(&b, "PART=%d\n", i/1000)
		}
		fmt.Fprintf(&b, "# what line %d is for\n%d %d 1,15 * 1-5 /opt/app/bin/task%d --part $PART --line %d >> /var/log/app/%d.log 2>&1\n", i, i%60, i/60%24, i%200, i, i)
	}
	return b.String()
}

// measure imports the table twice into a new service. cpu is what that took of the service and of the programs that imported.
func measure(program, table, data string, lines int) (added, unchanged, cpu time.Duration, err error) {
	environ := append(os.Environ(), "RUQI_DATA_DIR="+data)
	serve := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--log-level", "error")
	serve.Env = environ
	stdout, err := serve.StdoutPipe()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := serve.Start(); err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait() // how it ends does not matter any more
		cpu += serve.ProcessState.UserTime() + serve.ProcessState.SystemTime()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return 0, 0, 0, err
	}
	address := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	once := func(want string) (time.Duration, error) {
		cmd := exec.Command(program, "import", "crontab", table, "--server", address)
		cmd.Env = environ
		begin := time.Now()
		out, err := cmd.Output()
		took := time.Since(begin)
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if err == nil && !strings.Contains(string(out), want) {
			err = fmt.Errorf("it does not say %q", want)
		}
		return took, err
	}
	if added, err = once(fmt.Sprintf("%d created", lines)); err != nil {
		return 0, 0, 0, err
	}
	unchanged, err = once(fmt.Sprintf("%d unchanged", lines))
	return added, unchanged, cpu, err
}

func show(w io.Writer, name string, took []time.Duration, lines int) {
	slices.Sort(took)
	median := took[len(took)/2]
	fmt.Fprintf(w, "%-14s%6.2f s (%.2f-%.2f), %.0f lines/s\n", name, median.Seconds(), took[0].Seconds(), took[len(took)-1].Seconds(), float64(lines)/median.Seconds())
}
