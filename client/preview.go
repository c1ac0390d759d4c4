package client

import (
	"context"
	"net/http"

	"github.com/ruqi-dev/ruqi/wire"
)

// Preview asks the service what a trigger means: its times and its description, and why it does not fire at ask.At where that is
// given. A trigger without a zone lives in the service's. What is wrong with the trigger is an *InvalidError with pointers below
// /trigger.
func (c *Client) Preview(ctx context.Context, ask wire.PreviewRequest) (wire.Preview, error) {
	var shape wire.Preview
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/triggers/preview", body: ask}, &shape)
	return shape, err
}
