package postgres

import (
	"context"
	"time"
)

// OpenAt opens a store whose clock is now in place of the server's.
func OpenAt(ctx context.Context, url string, options Options, now func() time.Time) (*Store, error) {
	options.now = now
	return Open(ctx, url, options)
}
