package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

// How often WaitRun asks: soon at first, for the many runs that take no time, then
// twice a second.
const (
	firstWait = 20 * time.Millisecond
	mostWait  = 500 * time.Millisecond
)

// FindRun implements ruqi.Operations.
func (c *Client) FindRun(ctx context.Context, id int64) (ruqi.Run, error) {
	return c.runOf(ctx, runRequest(http.MethodGet, id, ""))
}

func (c *Client) runOf(ctx context.Context, r request) (ruqi.Run, error) {
	var shape wire.Run
	if _, err := c.do(ctx, r, &shape); err != nil {
		return ruqi.Run{}, err
	}
	return shape.Run(), nil
}

// waitAway is how long WaitRun believes in a service that does not answer, or whose store does not: as long as a failover or
// a restart takes, and more.
const waitAway = 2 * time.Minute

// away reports whether an error may be gone with the next request.
func away(err error) bool {
	var stays *elsewhere
	return errors.Is(err, ruqi.ErrUnavailable) || errors.Is(err, ErrUnreachable) && !errors.As(err, &stays)
}

// WaitRun implements ruqi.Operations. A service or a store that is away for up to two minutes does not end it.
func (c *Client) WaitRun(ctx context.Context, id int64) (ruqi.Run, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	answered := time.Now()
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		select {
		case <-ctx.Done():
			return ruqi.Run{}, context.Cause(ctx)
		case <-timer.C:
		}
		run, err := c.FindRun(ctx, id)
		switch {
		case away(err) && time.Since(answered) < waitAway:
		case err != nil || run.State.Ended():
			return run, err
		default:
			answered = time.Now()
		}
		timer.Reset(wait)
	}
}

// CancelRun implements ruqi.Operations, but for by: the service records whose token
// it was, and does not take a client's word for it.
func (c *Client) CancelRun(ctx context.Context, id int64, _ string) (ruqi.Run, error) {
	return c.runOf(ctx, runRequest(http.MethodPost, id, "cancel"))
}

// Runs implements ruqi.Operations.
func (c *Client) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	q := url.Values{}
	set(q, "job", query.Job)
	set(q, "name", query.Name)
	set(q, "cursor", query.Cursor)
	for _, state := range query.States {
		q.Add("state", string(state))
	}
	for _, cause := range query.Causes {
		q.Add("cause", string(cause))
	}
	ids := make([]string, 0, len(query.IDs))
	for _, id := range query.IDs {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	set(q, "id", strings.Join(ids, ","))
	if query.From != nil {
		q.Set("from", wire.FormatTime(*query.From, time.UTC))
	}
	if query.To != nil {
		q.Set("to", wire.FormatTime(*query.To, time.UTC))
	}
	if query.Executed {
		q.Set("executed", "true")
	}
	setPage(q, query.Offset, query.Limit)
	var shape wire.Page[wire.Run]
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/runs", query: q}, &shape); err != nil {
		return ruqi.RunPage{}, err
	}
	page := ruqi.RunPage{Total: shape.Total}
	for _, item := range shape.Items {
		page.Runs = append(page.Runs, item.Run())
	}
	if shape.NextCursor != nil {
		page.Next = *shape.NextCursor
	}
	return page, nil
}

// mostOutput is what one answer holds at the most, and without a limit: the Scheduler's own bound.
const mostOutput = 1 << 20 // bytes

// Output implements ruqi.Operations.
func (c *Client) Output(ctx context.Context, id int64, from int64, limit int) (ruqi.OutputPart, error) {
	if limit == 0 {
		limit = mostOutput
	}
	r := runRequest(http.MethodGet, id, "output")
	r.query.Set("from", strconv.FormatInt(from, 10))
	r.query.Set("limit", strconv.Itoa(limit))
	resp, err := c.send(ctx, r)
	if err != nil {
		return ruqi.OutputPart{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var part ruqi.OutputPart
	if part.At, err = strconv.ParseInt(resp.Header.Get("Output-Offset"), 10, 64); err != nil {
		return ruqi.OutputPart{}, fmt.Errorf("answer has no Output-Offset: %w", err)
	}
	part.Ended = resp.Header.Get("Output-Ended") == "true"
	if part.Bytes, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit))); err != nil {
		return ruqi.OutputPart{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return part, nil
}

// CopyOutput writes the whole output of a run to w, raw; with Follow until the run has ended.
func (c *Client) CopyOutput(ctx context.Context, w io.Writer, id int64, how Copy) error {
	r := runRequest(http.MethodGet, id, "output")
	if how == Follow {
		r.query.Set("follow", "1")
		r.follow = true
	}
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(w, resp.Body); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("output was broken off: %w: %w", ErrUnreachable, err)
	}
	return nil
}

// Copy says how much of an output CopyOutput writes.
type Copy int

const (
	// Kept: what there is now.
	Kept Copy = iota
	// Follow: that, and what comes until the run has ended.
	Follow
)

// Status implements ruqi.Operations.
func (c *Client) Status(ctx context.Context) (ruqi.Status, error) {
	var shape wire.Status
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/status"}, &shape); err != nil {
		return ruqi.Status{}, err
	}
	return shape.Status(), nil
}

// Instances lists the instances that share the service's store, as ruqi.Scheduler.Instances does. Clock offsets are in whole
// milliseconds.
func (c *Client) Instances(ctx context.Context) (ruqi.InstanceList, error) {
	var shape wire.InstanceList
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/instances"}, &shape); err != nil {
		return ruqi.InstanceList{}, err
	}
	return shape.Instances(), nil
}

// Wakeup implements ruqi.Operations.
func (c *Client) Wakeup(ctx context.Context) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/wakeup"}, nil)
	return err
}
