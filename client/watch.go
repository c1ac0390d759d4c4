package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// answerTimeout is how long the service may say nothing: three times what its store may take for a step, and well above what any
// answer takes.
const answerTimeout = 30 * time.Second

// A silence is what comes of a service that takes requests and does not answer: it hangs, or is stopped.
type silence struct{ changes bool }

func (s *silence) Error() string {
	text := "it did not answer within " + answerTimeout.String()
	if s.changes {
		text += "; what was asked for may have been done all the same"
	}
	return text
}

// A watch ends a request when the service says nothing for too long.
type watch struct {
	cause  func() error // of the request's end
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// newWatch begins to watch a request, which is to be made with the context that it returns.
func newWatch(ctx context.Context, r request) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watch{
		cause: func() error { return context.Cause(ctx) }, cancel: cancel,
		timer: time.AfterFunc(answerTimeout, func() { cancel(&silence{changes: r.method != http.MethodGet}) }),
	}
}

// tell returns the silence where that is what ended the request, else the error.
func (w *watch) tell(err error) error {
	var silent *silence
	if errors.As(w.cause(), &silent) {
		return silent
	}
	return err
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// body returns the body of an answer that has begun. It is watched from part to part, unless it may take for ever.
func (w *watch) body(body io.ReadCloser, follow bool) io.ReadCloser {
	if follow {
		w.timer.Stop()
	}
	return &watched{body, w, follow}
}

type watched struct {
	io.ReadCloser
	watch  *watch
	follow bool
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (int, error) {
	if !b.follow {
		b.watch.timer.Reset(answerTimeout)
	}
	n, err := b.ReadCloser.Read(p)
	b.watch.timer.Stop()             // how long the reader takes for it is its own affair
	if err != nil && err != io.EOF { // which readers of the end return as it is
		err = b.watch.tell(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watched) Close() error {
	b.watch.end()
	return b.ReadCloser.Close()
}
