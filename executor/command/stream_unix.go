//go:build unix

package command

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How long the pipe is read once the program has ended.
const (
	// quiet is how long after its last byte; enough for a loaded machine to pass on what was written before.
	quiet = 250 * time.Millisecond
	// longest bounds it for those that keep on writing.
	longest = 2 * time.Second
	// mostInPipe is what a pipe of Linux holds at most, unless root has made it larger: 1 MiB.
	mostInPipe = 1 << 20
)

// buffers are as large as a pipe of Linux holds.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// A pump reads a pipe into an output until its end.
type pump struct {
	pipe  *os.File
	out   io.Writer
	limit atomic.Int64 // of draining, in ns since 1970; 0 while the program runs
	held  bool         // the pipe was still open; valid once done
	done  chan struct{}
}

func newPump(pipe *os.File, out io.Writer) *pump {
	p := &pump{pipe: pipe, out: out, done: make(chan struct{})}
	go p.run()
	return p
}

func (p *pump) run() {
	defer close(p.done)
	defer p.pipe.Close()
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	for {
		n, err := p.pipe.Read(buffer[:])
		if n > 0 {
			p.out.Write(buffer[:n])
			p.extend()
		}
		if err != nil {
			p.held = errors.Is(err, os.ErrDeadlineExceeded) && !p.rest(buffer[:])
			return
		}
	}
}

// rest takes what the pipe holds, without waiting for more: on a machine that has no time for this goroutine the quiet time
// may pass before anything was read. It reports whether that was all there will be.
func (p *pump) rest(buffer []byte) (ended bool) {
	conn, err := p.pipe.SyscallConn()
	if err != nil || p.pipe.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	for taken := 0; taken < mostInPipe; {
		var n int
		var err error
		reading := conn.Read(func(fd uintptr) bool {
			for {
				if n, err = syscall.Read(int(fd), buffer); !errors.Is(err, syscall.EINTR) {
					return true
				}
			}
		})
		if reading != nil || err != nil || n == 0 {
			return reading == nil && err == nil
		}
		p.out.Write(buffer[:n])
		taken += n
	}
	return false
}

// extend gives the pipe its quiet time anew, once the program has ended.
func (p *pump) extend() {
	if limit := p.limit.Load(); limit != 0 {
		next := time.Now().Add(quiet)
		if last := time.Unix(0, limit); next.After(last) {
			next = last
		}
		p.pipe.SetReadDeadline(next)
	}
}

// drain waits for the end of the pipe, or makes one, and reports whether
// somebody still held it. Nothing is written to the output afterwards.
func (p *pump) drain() (held bool) {
	select {
	case <-p.done:
		return p.held
	default:
	}
	p.limit.Store(time.Now().Add(longest).UnixNano())
	p.extend()
	<-p.done
	return p.held
}

// pipeFiles makes files of a pipe's two ends.
func pipeFiles(fds [2]int) (read, write *os.File, err error) {
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "output"), os.NewFile(uintptr(fds[1]), "output"), nil
}

// A feeder writes a text to the program's standard input; nil has nothing to write.
type feeder struct {
	pipe *os.File
	text string
	done chan struct{} // nil until started
}

// openStdin returns what the program reads, and the feeder of its other end.
func openStdin(text string) (*os.File, *feeder, error) {
	if text == "" {
		null, err := os.Open(os.DevNull)
		return null, nil, err
	}
	read, write, err := stdinPipe()
	if err != nil {
		return nil, nil, err
	}
	return read, &feeder{pipe: write, text: text}, nil
}

// stdinPipe is a pipe whose ends change their roles: the program's end blocks, ours has deadlines.
func stdinPipe() (read, write *os.File, err error) {
	read, write, err = os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	read.Fd() // makes it blocking
	return read, write, nil
}

func (f *feeder) start() {
	if f == nil {
		return
	}
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		defer f.pipe.Close()
		// A program that does not read its input is no fault.
		io.WriteString(f.pipe, f.text)
	}()
}

// close ends the writing, finished or not.
func (f *feeder) close() {
	if f == nil {
		return
	}
	if f.done == nil {
		f.pipe.Close()
		return
	}
	f.pipe.SetWriteDeadline(time.Now())
	<-f.done
}
