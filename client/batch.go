package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

// AddDefinitions is AddDefinition for at most ruqi.MaxBatch jobs, in one request, which a service takes up to 1 MiB of. Each is added or
// refused for itself; the answers are in the order of the definitions.
func (c *Client) AddDefinitions(ctx context.Context, definitions []json.RawMessage, onConflict ruqi.OnConflict) ([]ruqi.Addition, error) {
	query := url.Values{}
	set(query, "on_conflict", string(onConflict))
	var shape wire.Additions
	body := map[string][]json.RawMessage{"jobs": definitions}
	if _, err := c.do(ctx, request{method: http.MethodPost, path: "/job-batches", query: query, body: body}, &shape); err != nil {
		return nil, err
	}
	if len(shape.Items) != len(definitions) {
		return nil, fmt.Errorf("the service answered for %d jobs of %d", len(shape.Items), len(definitions))
	}
	all := make([]ruqi.Addition, len(shape.Items))
	for i, item := range shape.Items {
		var err error
		if all[i], err = item.Addition(c.registry); err != nil {
			return nil, err
		}
	}
	return all, nil
}
