package cli

import (
	"context"
	"crypto/sha256"

	"github.com/ruqi-dev/ruqi"
)

// StoresToken starts as a service does that is to serve with the token its store knows, or the first.
func StoresToken(ctx context.Context, records ruqi.RecordStore, dir string) ([sha256.Size]byte, string, error) {
	return adminToken(ctx, records, dir, storesToken)
}

// FreshToken starts as a service does with --new-token.
func FreshToken(ctx context.Context, records ruqi.RecordStore, dir string) ([sha256.Size]byte, string, error) {
	return adminToken(ctx, records, dir, freshToken)
}
