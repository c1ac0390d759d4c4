//go:build unix

package command

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"
)

// A machine that is too busy to read before the quiet time is over still keeps what the program wrote.
func TestWhatIsInThePipeIsReadAfterTheQuietTime(t *testing.T) {
	for _, open := range []bool{true, false} {
		var fds [2]int
		if err := syscall.Pipe(fds[:]); err != nil {
			t.Fatal(err)
		}
		read, write, err := pipeFiles(fds)
		if err != nil {
			t.Fatal(err)
		}
		said := bytes.Repeat([]byte("said before the end\n"), 2000)
		if _, err := write.Write(said); err != nil {
			t.Fatal(err)
		}
		if open {
			defer write.Close()
		} else if err := write.Close(); err != nil {
			t.Fatal(err)
		}
		if err := read.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p := newPump(read, &out)
		select {
		case <-p.done:
		case <-time.After(30 * time.Second):
			t.Fatal("the pump waits")
		}
		if !bytes.Equal(out.Bytes(), said) || p.held != open {
			t.Errorf("of %d bytes %d were kept; held open: %t, want %t", len(said), out.Len(), p.held, open)
		}
		if _, err := read.Read(make([]byte, 1)); err == nil || err == os.ErrDeadlineExceeded {
			t.Errorf("the pipe was not closed: %v", err)
		}
	}
}
