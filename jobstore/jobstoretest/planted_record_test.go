package jobstoretest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/ruqi-dev/ruqi"
)

var recordFaults = []fault{
	breaking("puts one record after the other", "Put/all or none", func(b *broken) {
		b.put = func(ctx context.Context, records ...ruqi.Record) error {
			for _, r := range records {
				if err := b.Store.Put(ctx, r); err != nil {
					return err
				}
			}
			return nil
		}
	}),
	breaking("puts over whatever is there", "Put/versions", func(b *broken) {
		b.put = func(ctx context.Context, records ...ruqi.Record) error {
			for i := range records {
				if old, err := b.Store.Get(ctx, records[i].Kind, records[i].Key); err == nil {
					records[i].Version = old.Version
				}
			}
			return b.Store.Put(ctx, records...)
		}
	}),
	breaking("lists from after on, not past it", "List/order", func(b *broken) {
		b.list = func(ctx context.Context, kind, prefix, after string, limit int) ([]ruqi.Record, error) {
			list, err := b.Store.List(ctx, kind, prefix, after, limit)
			if r, e := b.Store.Get(ctx, kind, after); e == nil && strings.HasPrefix(after, prefix) {
				list = append([]ruqi.Record{r}, list...)
			}
			return list, err
		}
	}),
	breaking("appends keys that do not grow", "Append/keys", func(b *broken) {
		var mu sync.Mutex
		n := 1000
		b.add = func(ctx context.Context, kind string, data []byte) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			n--
			key := fmt.Sprintf("%04d", n)
			return key, b.Store.Put(ctx, ruqi.Record{Kind: kind, Key: key, Data: data})
		}
	}),
	breaking("numbers appended records before it writes them", "Append/readers", func(b *broken) {
		var mu sync.Mutex
		n := 0
		b.add = func(ctx context.Context, kind string, data []byte) (string, error) {
			mu.Lock()
			n++
			number := n
			mu.Unlock()
			key := fmt.Sprintf("%04d", number)
			for range 10 * (number % 7) {
				runtime.Gosched() // a later number is written first
			}
			return key, b.Store.Put(ctx, ruqi.Record{Kind: kind, Key: key, Data: data})
		}
	}),
	breaking("hands out its own bytes", "every method/ownership", func(b *broken) {
		var mu sync.Mutex
		own := map[string][]byte{}
		b.get = func(ctx context.Context, kind, key string) (ruqi.Record, error) {
			r, err := b.Store.Get(ctx, kind, key)
			mu.Lock()
			defer mu.Unlock()
			name := fmt.Sprint(kind, key, r.Version)
			if own[name] == nil {
				own[name] = r.Data
			}
			r.Data = own[name]
			return r, err
		}
	}),
	breaking("does not hear that a context has ended", "every method/ended context", func(b *broken) {
		b.put = func(ctx context.Context, records ...ruqi.Record) error {
			return b.Store.Put(context.WithoutCancel(ctx), records...)
		}
	}),
}
