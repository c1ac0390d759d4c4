package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// A worker is what a child process does: it answers requests until it is closed.
type worker interface {
	// do does what a request says; n is its number, if it has one.
	do(ctx context.Context, what string, n int) (answer, error)
	close(ctx context.Context) error
}

// An answer is what a child tells; each request fills in its own part.
type answer struct {
	// CPU is the user and system time of the process so far.
	CPU time.Duration `json:"cpu"`
	// Called counts the calls of its function so far, Late are their delays in milliseconds since it was last asked.
	Called int64     `json:"called,omitempty"`
	Late   []float64 `json:"late,omitempty"`
	// Parts are the lengths of the parts of a round.
	Parts []time.Duration `json:"parts,omitempty"`
	Error string          `json:"error,omitempty"`
}

// obey is the life of a child: it answers each line of in by one of out, and ends with in.
func obey(ctx context.Context, kind, address string, p *plan, in io.Reader, out io.Writer) (err error) {
	if p.profile != "" {
		f, err := os.Create(filepath.Join(p.profile, fmt.Sprintf("%s-%d.prof", kind, os.Getpid())))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	w, err := openWorker(ctx, kind, address, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	answers, lines := json.NewEncoder(out), bufio.NewScanner(in)
	if err := answers.Encode(answer{CPU: ownCPU()}); err != nil { // it is ready
		return err
	}
	for lines.Scan() {
		what, number, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(number) // 0 where there is none
		a, err := w.do(ctx, what, n)
		if err != nil {
			a.Error = err.Error()
		}
		a.CPU = ownCPU()
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func openWorker(ctx context.Context, kind, address string, p *plan) (worker, error) {
	switch kind {
	case "instance":
		return openInstances(ctx, address, p.slots, 0, 1)
	case "racer": // keeps all history, as river does here
		return openInstances(ctx, address, p.slots, -1, 1)
	case "racers":
		return openInstances(ctx, address, p.slots, -1, racers)
	case "floor":
		return openFloor(ctx, address, false)
	case "finding":
		return openFloor(ctx, address, true)
	case "river":
		return openRiver(ctx, address, p.river)
	}
	return nil, fmt.Errorf("%q is no kind of child", kind)
}

// A child is a process of this program that works for a bench.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// startChild starts a child and waits until it is ready.
func (p *plan) startChild(ctx context.Context, kind, address string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", kind, "-address", address, "-slots", fmt.Sprint(p.slots), "-profile", p.profile,
		"-river-workers", fmt.Sprint(p.river.workers), "-river-cooldown", p.river.cooldown.String(),
		"-river-insert", fmt.Sprint(p.river.insert), "-river-apart="+strconv.FormatBool(p.river.apart))
	cmd.Stderr = os.Stderr
	c := &child{cmd: cmd}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.answers = json.NewDecoder(stdout)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ready answer
	if err := c.answers.Decode(&ready); err != nil {
		return nil, errors.Join(fmt.Errorf("a child (%s) did not become ready: %w", kind, err), c.stop())
	}
	return c, nil
}

// ask sends a request and waits for its answer.
func (c *child) ask(what string) (a answer, err error) {
	if _, err := io.WriteString(c.in, what+"\n"); err != nil {
		return a, err
	}
	if err := c.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("a child does not answer: %w", err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", what, a.Error)
	}
	return a, nil
}

// stop lets the child end and waits for that.
func (c *child) stop() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// A group is the children of one contender.
type group []*child

// startGroup starts n children on one store.
func (p *plan) startGroup(ctx context.Context, kind, address string, n int) (group, error) {
	var g group
	for range n {
		c, err := p.startChild(ctx, kind, address)
		if err != nil {
			return nil, errors.Join(err, g.stop())
		}
		g = append(g, c)
	}
	return g, nil
}

func (g group) stop() error {
	var all []error
	for _, c := range g {
		all = append(all, c.stop())
	}
	return errors.Join(all...)
}

// ask asks all and returns their answers.
func (g group) ask(what string) (list []answer, err error) {
	for _, c := range g {
		a, err := c.ask(what)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func (g group) cpu() (sum time.Duration, err error) {
	list, err := g.ask("cpu")
	for _, a := range list {
		sum += a.CPU
	}
	return sum, err
}

// called sums the calls of their functions so far.
func (g group) called() (sum int64, err error) {
	list, err := g.ask("called")
	for _, a := range list {
		sum += a.Called
	}
	return sum, err
}
