package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ruqi-dev/ruqi"
)

const (
	outputPart   = 64 << 10               // bytes read from the store at a time
	outputPoll   = 200 * time.Millisecond // a fifth of the second within which output is to be seen
	outputWrite  = 30 * time.Second       // how long a follower may stop reading before it is let go
	offsetHeader = "Output-Offset"
	endedHeader  = "Output-Ended"
)

type readOutput struct {
	RunRef
	From   int64 `query:"from" minimum:"0" doc:"Offset of the first byte wanted, in the whole stream."`
	Limit  int   `query:"limit" minimum:"1" maximum:"1048576" doc:"One stretch of at most so many bytes, as it is kept, in place of all there is."`
	Follow bool  `query:"follow" doc:"1: goes on until the run has ended."`
}

type outputAnswer struct {
	Body func(huma.Context)
}

func (a *api) registerOutput() {
	register(a, huma.Operation{
		OperationID: "get-run-output", Method: http.MethodGet, Path: runPath + "/output", Summary: "Get what a run wrote, raw", Tags: []string{"runs"},
		Description: "Where the middle of a long output was not kept, a line in brackets says how much is missing; with limit there is no such line, and " +
			offsetHeader + " is larger than asked for.",
		Responses: map[string]*huma.Response{"200": {
			Description: "The bytes",
			Headers: map[string]*huma.Header{
				offsetHeader: {Description: "Offset of the first byte sent.", Schema: &huma.Schema{Type: huma.TypeInteger}},
				endedHeader:  {Description: "true: the run had ended and nothing follows these bytes. Only with limit.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
			},
			Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.readOutput)
}

func (a *api) readOutput(ctx context.Context, in *readOutput) (*outputAnswer, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if in.Follow && in.Limit > 0 {
		return nil, malformed("/limit", strconv.Itoa(in.Limit), "limit is for one stretch, follow for all that comes")
	}
	limit := in.Limit
	if limit == 0 {
		limit = outputPart
	}
	first, err := a.Operations.Output(ctx, id, in.From, limit)
	if err != nil {
		return nil, err
	}
	return &outputAnswer{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set(offsetHeader, strconv.FormatInt(first.At, 10))
		if in.Limit > 0 {
			h.Set(endedHeader, strconv.FormatBool(first.Ended))
			_, _ = w.Write(first.Bytes) // a client that has gone needs no answer
			return
		}
		s := &stream{w: w, control: http.NewResponseController(w), at: in.From}
		a.sendOutput(ctx, id, s, first, in.Follow)
	}}, nil
}

// sendOutput writes part after part until there is nothing more: now, or, for a follower, ever.
func (a *api) sendOutput(ctx context.Context, id int64, s *stream, part ruqi.OutputPart, follow bool) {
	// The server's limit on reading a request is over with it; left in place it would end a long stream.
	_ = s.control.SetReadDeadline(time.Time{}) // a recorder in tests has none
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if err := s.send(part); err != nil || part.Ended {
			return
		}
		if len(part.Bytes) == 0 {
			if !follow {
				return
			}
			timer.Reset(outputPoll)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		var err error
		if part, err = a.Operations.Output(ctx, id, s.at, outputPart); err != nil {
			if ctx.Err() != nil { // the reader has gone, and with it the reason to ask
				return
			}
			a.Logger.WarnContext(ctx, "output stream broken off", "run", id, "error", err)
			panic(http.ErrAbortHandler) // the reader must not take a broken stream for a whole one
		}
	}
}

// stream is an output on its way to a client.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	at      int64 // offset of the next byte
}

func (s *stream) send(part ruqi.OutputPart) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(outputWrite))
	if missing := part.At - s.at; missing > 0 && len(part.Bytes) > 0 {
		if _, err := fmt.Fprintf(s.w, "\n[%d bytes were not kept]\n", missing); err != nil {
			return err
		}
	}
	if _, err := s.w.Write(part.Bytes); err != nil {
		return err
	}
	s.at = max(s.at, part.At+int64(len(part.Bytes)))
	return s.control.Flush()
}
