package standard_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

func TestTheRegistryKnowsWhatIsBuiltIn(t *testing.T) {
	registry := standard.Registry(standard.Options{})
	for _, text := range []string{
		`{"kind":"cron","expr":"0 3 * * *"}`, `{"kind":"interval","every":"90s"}`, `{"kind":"date","at":"2031-01-01T00:00:00Z"}`,
	} {
		if _, err := registry.DecodeTrigger([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, kind := range []string{"command", "func"} {
		if _, known := registry.Executor(kind); !known {
			t.Errorf("no executor of kind %s", kind)
		}
	}
}

func TestStoresAreOpenedByTheirAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ruqi.db")
	kept, err := standard.OpenStore(t.Context(), "sqlite:"+path, standard.StoreOptions{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Jobs.Count(t.Context()); !errors.Is(err, ruqi.ErrNotFound) {
		t.Errorf("a store that is to be kept as it is, and is not there: %v", err)
	}
	if err := kept.Jobs.Close(); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"memory:", "sqlite:" + path} {
		store, err := standard.OpenStore(t.Context(), address, standard.StoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Records.Put(t.Context(), ruqi.Record{Kind: "k", Key: "x", Data: []byte("{}")}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := store.Jobs.Count(t.Context()); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if where := store.Jobs.(ruqi.Locator).Location(); !strings.HasPrefix(where, address) {
			t.Errorf("%s describes itself as %s", address, where)
		}
		if err := store.Jobs.Close(); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, want := range map[string]string{
		"": "accepted are", "sqlite": "path", "sqlite:": "path", "memory:x": "nothing follows memory:; accepted are", "mysql://user:secret@host/db": `"mysql"`,
		"postgres://user:secret@127.0.0.1:port/db": "address", "postgres:": "address", path: "accepted are",
	} {
		_, err := standard.OpenStore(t.Context(), address, standard.StoreOptions{})
		if !errors.Is(err, ruqi.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := standard.OpenStore(t.Context(), "sqlite:"+path+"/none/x.db", standard.StoreOptions{}); err == nil {
		t.Error("a file in a folder that is not there is opened")
	}
}
