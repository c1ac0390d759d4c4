// Command bench runs every benchmark and writes RESULTS.md: what was measured, on
// which machine, and what else the machine did meanwhile.
//
//	go run . [-o RESULTS.md] [-quick]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A section is one program and what its figures are for.
type section struct {
	title, about string
	program      string
	args, quick  []string
}

var sections = []section{
	{"Next fire time", "One `Next`, and one `Prev`, of a cron line: ours beside its peers, a chain of answers, same start; and reading the line. go-quartz is shown with its answers, some of which are wrong, and is no target.",
		"./next/report", []string{"-rounds", "9"}, []string{"-rounds", "3"}},
	{"Engine on the store in memory, and idle on SQLite", "The whole scheduler: through the public call, every run recorded.",
		"./engine", []string{"-runs", "3"}, []string{"-runs", "1"}},
	{"SQLite", "No-op runs claimed, started, finished and recorded. The floor is the same job UPDATE, run INSERT and finish UPDATE, hand-written, 500 a transaction, without Ruqi. The promise for the whole engine: at least 35 % of the floor.",
		"./sqlite", nil, []string{"-rounds", "3"}},
	{"PostgreSQL and the cluster", "Instances are processes on one private server. The floor is the same job UPDATE, run INSERT and fenced finish UPDATE as hand-written SQL on one connection, 500 a transaction, in the store's own tables. The promises: one instance at least 50 % of the floor's rate, three at least 90 % of one's; no more CPU a run than river uses for a job, and at least 1.2 times its rate. Lists of /ruqi: the first page under 20 ms.",
		"./postgres", nil, []string{"-quick"}},
	{"Commands", "Commands started, output captured, beside a bare os/exec loop that captures output, eight at a time. The promise: at least 75 % of its rate.",
		"./command", []string{"-n", "3000", "-rounds", "7"}, []string{"-n", "500", "-rounds", "3"}},
	{"Import of a crontab", "10,000 lines, a hundred a request, to a service with SQLite: what `ruqi import crontab` takes from start to end. The promise: less than 5 s.",
		"./crontab", nil, []string{"-lines", "1000", "-rounds", "1"}},
}

func main() {
	out := flag.String("o", "RESULTS.md", "where the results go")
	quick := flag.Bool("quick", false, "short runs, to see that all works")
	flag.Parse()
	if err := run(*out, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(path string, quick bool) error {
	var b bytes.Buffer
	if err := header(&b, quick); err != nil {
		return err
	}
	for _, s := range sections {
		if err := s.run(&b, quick); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
	}
	notes, err := os.ReadFile("NOTES.md")
	if err != nil {
		return err
	}
	b.Write(notes)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func header(w io.Writer, quick bool) error {
	commit, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	kernel, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	fmt.Fprintf(w, "# Results\n\nWritten by `make bench` on %s at commit %s: %s, %d CPUs (%s), %s.\n",
		time.Now().UTC().Format("2006-01-02"), strings.TrimSpace(string(commit)), runtime.Version(), runtime.NumCPU(), processor(), strings.TrimSpace(string(kernel)))
	fmt.Fprintf(w, "Figures are medians (lowest-highest). \"Other CPU\" is what the rest of the machine used while the section ran, of %d00 %%: where it is much, read the ratios and the CPU figures, not the rates.\n", runtime.NumCPU())
	if quick {
		fmt.Fprintln(w, "\n**Short runs: these figures only show that everything works.**")
	}
	return nil
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func (s section) run(w io.Writer, quick bool) error {
	fmt.Fprintln(os.Stderr, "bench:", s.title)
	dir, err := os.MkdirTemp("", "ruqi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := dir + "/program"
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, s.program)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	args := s.args
	if quick {
		args = s.quick
	}
	cmd := exec.Command(binary, args...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, os.Stderr
	began, before := time.Now(), busy()
	if err := cmd.Run(); err != nil {
		return err
	}
	took := time.Since(began)
	own := time.Duration(0)
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		own = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	other := 100 * max(busy()-before-own, 0).Seconds() / took.Seconds()
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n%s\n\n%s, other CPU %.0f %%.\n", s.title, s.about, strings.TrimSpace(text.String()), took.Round(time.Second), other)
	return nil
}

// busy is how long the machine's CPUs have worked since it was started. A tick of
// /proc/stat is a hundredth of a second on every Linux.
func busy() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var user, nice, system int64
	if _, err := fmt.Sscanf(string(data), "cpu %d %d %d", &user, &nice, &system); err != nil {
		return 0
	}
	return time.Duration(user+nice+system) * 10 * time.Millisecond
}
