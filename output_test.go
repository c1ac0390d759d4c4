package ruqi

import (
	"bytes"
	"testing"
)

// stream returns n bytes in which each place can be told from its neighbours.
func stream(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func TestOutputKeepsBothEnds(t *testing.T) {
	for _, n := range []int{0, 1, keepHead - 1, keepHead, keepHead + 1, keepHead + keepTail, 10 * keepTail} {
		for _, piece := range []int{1 << 10, 100_000, 3 << 20} {
			var o output
			all := stream(n)
			for rest := all; len(rest) > 0; {
				part := rest[:min(piece, len(rest))]
				if wrote, err := o.Write(part); wrote != len(part) || err != nil {
					t.Fatalf("wrote %d of %d, %v", wrote, len(part), err)
				}
				rest = rest[len(part):]
			}
			end := int64(0)
			for _, u := range o.take(1) {
				if !bytes.Equal(u.Output, all[u.At:u.At+int64(len(u.Output))]) {
					t.Fatalf("%d bytes in pieces of %d: what is said to be at %d is not", n, piece, u.At)
				}
				if u.At < end {
					t.Fatalf("%d bytes in pieces of %d: %d comes after %d", n, piece, u.At, end)
				}
				if gap := u.At - end; gap > 0 && (end < min(int64(n), keepHead) || int64(n)-u.At < keepTail) {
					t.Fatalf("%d bytes in pieces of %d: %d bytes are missing from %d on", n, piece, gap, end)
				}
				end = u.At + int64(len(u.Output))
			}
			if end != int64(n) {
				t.Fatalf("%d bytes in pieces of %d: it ends at %d", n, piece, end)
			}
			o.landed()
			if o.waiting() {
				t.Fatal("what was taken is still there")
			}
		}
	}
}

func TestOutputGivenBackKeepsItsOrder(t *testing.T) {
	var o output
	all := stream(keepHead + 2000)
	write := func(from, to int) {
		if _, err := o.Write(all[from:to]); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 1000)
	first := o.take(1)
	write(1000, keepHead+500)
	o.put(first)
	second := o.take(1)
	write(keepHead+500, keepHead+2000)
	o.put(second)
	var got []byte
	for _, u := range o.take(1) {
		if u.At != int64(len(got)) {
			t.Fatalf("%d follows %d", u.At, len(got))
		}
		got = append(got, u.Output...)
	}
	if !bytes.Equal(got, all) {
		t.Fatalf("%d of %d bytes came through in order", len(got), len(all))
	}
	if !o.waiting() {
		t.Fatal("what is on its way does not wait")
	}
	o.landed()
	o.close()
	write(0, 10)
	if o.waiting() {
		t.Fatal("what was written after the end is kept")
	}
}
