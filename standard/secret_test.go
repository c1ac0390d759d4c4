package standard_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

// Whoever gets an address wrong gets the password in it wrong too, most often: a character of it that should have been
// escaped, another way to write addresses, a slip of the kind.
func TestThePasswordOfAnOddAddressIsNotTold(t *testing.T) {
	for _, address := range []string{
		// of no kind, or another's
		"mysql://u:hunter2@127.0.0.1:1/db",
		"Postgres://u:hunter2@127.0.0.1:1/db",
		" postgres://u:hunter2@127.0.0.1:1/db",
		"postgres;//u:hunter2@127.0.0.1:1/db",
		"//u:hunter2@127.0.0.1:1/db",
		"u:hunter2@127.0.0.1:1/db",
		"hunter2@127.0.0.1:1/db",
		"memory:hunter2",
		"jdbc:postgresql://127.0.0.1:1/db?user=u&password=hunter2",
		// keywords and values
		"host=127.0.0.1 port=1 user=u password=hunter2",
		"password=hunter2 host=127.0.0.1 port=1 options='-c search_path=a:b'",
		"password='hunter2:x' host=127.0.0.1 port=1",
		"postgres: host=127.0.0.1 port=1 user=u password=hunter2",
		"postgres:host=127.0.0.1 port=1 password=hunter2 user",
		"postgres:password=hunter2 host=127.0.0.1 port=1",
		"postgres:password='hunter2",
		// characters that should have been escaped
		"postgres://u:hunter2%@127.0.0.1:1/db",
		"postgres://u:hunter2%zz@127.0.0.1:1/db",
		"postgres://u:hunter2/x@127.0.0.1:1/db",
		"postgres://u:hunter2?x@127.0.0.1:1/db",
		"postgres://u:hunter2#x@127.0.0.1:1/db",
		"postgres://u:hunter2[@127.0.0.1:1/db",
		"postgres://u:x@hunter2@127.0.0.1:1/db",
		"postgres://u: hunter2@127.0.0.1:1/db",
		"postgres://u:hunter2\n@127.0.0.1:1/db",
		"postgres://127.0.0.1:/hunter2@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/hunter2@127.0.0.1:1/db",
		"postgres://127.0.0.1:1?hunter2@127.0.0.1:1/db",
		"postgres://127.0.0.1:1#hunter2@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/?x=1&hunter2@127.0.0.1:1/db",
		// in its right place, and something else wrong
		"postgres://u:hunter2@127.0.0.1:1/db",
		"postgres://u:hunter%32@127.0.0.1:1/db",
		"postgres://u:hunter2@127.0.0.1:port/db",
		"postgres://u:hunter2@127.0.0.1:1/db?sslmode=sometimes",
		"postgres://u:hunter2@127.0.0.1:1/db?ruqi_listen=perhaps",
		"postgres://u:hunter2@127.0.0.1:1/db?sslrootcert=/none",
		"postgres://127.0.0.1:1/db?user=u&password=hunter2",
		"postgres:///db?host=127.0.0.1&port=1&user=u&password=hunter2@x",
		"postgresql://u:hunter2@127.0.0.1:1,127.0.0.1:2/db",
	} {
		t.Run(address, func(t *testing.T) {
			var log bytes.Buffer
			options := standard.StoreOptions{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			store, err := standard.OpenStore(t.Context(), address, options)
			if err == nil {
				t.Error("it was opened")
				_ = store.Jobs.Close()
				return
			}
			if text := err.Error() + log.String(); strings.Contains(text, "hunter2") {
				t.Errorf("the password is told: %s", text)
			}
		})
	}
}

// An @ that is escaped, or stands where it means nothing, is in nobody's way.
func TestAnAddressWithACharacterInItsRightPlaceIsTaken(t *testing.T) {
	for _, address := range []string{
		"postgres://u%40x:p%40%2F%3F%23%25@127.0.0.1:1/db",
		"postgres://u@127.0.0.1:1/a%40b",
		"postgres://127.0.0.1:1/db?user=u@x&password=p@/x",
		"postgres://u:p@127.0.0.1:1,127.0.0.1:2/db?search_path=a&my.own=1",
	} {
		if _, err := standard.OpenStore(t.Context(), address, standard.StoreOptions{}); !errors.Is(err, ruqi.ErrUnavailable) {
			t.Errorf("%s: %v, want that nobody answers there", address, err)
		}
	}
}
