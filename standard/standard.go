// Package standard lists what is built in: the triggers, executors and stores of the
// ruqi program. A program with others of its own makes its own list like this one.
package standard

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/calendar"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/gofunc"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
	"github.com/ruqi-dev/ruqi/jobstore/postgres"
	"github.com/ruqi-dev/ruqi/jobstore/sqlite"
	"github.com/ruqi-dev/ruqi/trigger"
)

// Options tune what is built in. The zero value is for a program whose jobs are its own.
type Options struct {
	// Webhooks says where webhooks may go.
	Webhooks webhook.Options
	// Commands says which commands may be run, and how they are kept together.
	Commands command.Options
	// Calendars knows the calendars that triggers name: those of Store.Calendars, which the scheduler is then given as well. Nil: such triggers
	// are refused.
	Calendars trigger.CalendarSource
}

// Registry returns a new registry of the triggers and executors that are built in. Functions are for
// the program to add.
func Registry(options Options) *ruqi.Registry {
	registry := ruqi.NewRegistry()
	trigger.RegisterWith(registry, options.Calendars)
	gofunc.Register(registry)
	command.Register(registry, options.Commands)
	webhook.Register(registry, options.Webhooks)
	return registry
}

// A Store is one opened store: the same thing as what keeps jobs, as what keeps records, and as what keeps named calendars among these.
// Closing Jobs closes them all.
type Store struct {
	Jobs      ruqi.JobStore
	Records   ruqi.RecordStore
	Calendars *calendar.Store
}

// StoreOptions tune a store, as far as all have it in common. The zero value is ready for use.
type StoreOptions struct {
	// Logger gets warnings of the store. Nil: none.
	Logger *slog.Logger
	// KeepSchema opens a store that lasts as it is, for the methods of ruqi.Caretaker: it is neither created nor brought up
	// to this release. Where there is none, or an older one, its other methods fail and say so.
	KeepSchema bool
}

var plainKind = regexp.MustCompile(`^[a-z][a-z0-9+]*:`)

// OpenStore opens the store at an address: "memory:", gone with the process;
// "sqlite:PATH", one file for the instances of one host; or "postgres://…", a database for instances on any
// number of hosts. An address of another kind is an *InvalidError.
func OpenStore(ctx context.Context, address string, options StoreOptions) (Store, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch {
	case kind == "memory" && rest == "":
		store := memory.Open(memory.Options{})
		return Store{Jobs: store, Records: store, Calendars: calendar.New(store)}, nil
	case kind == "sqlite" && rest != "":
		store, err := sqlite.Open(ctx, rest, sqlite.Options{Logger: options.Logger, KeepSchema: options.KeepSchema})
		if err != nil {
			return Store{}, fmt.Errorf("open store sqlite:%s: %w", rest, err)
		}
		return Store{Jobs: store, Records: store, Calendars: calendar.New(store)}, nil
	case kind == "postgres" || kind == "postgresql":
		store, err := postgres.Open(ctx, address, postgres.Options{Logger: options.Logger, KeepSchema: options.KeepSchema})
		if err != nil {
			return Store{}, err
		}
		return Store{Jobs: store, Records: store, Calendars: calendar.New(store)}, nil
	case kind == "memory":
		return Store{}, ruqi.Invalid("/store", "", "nothing follows memory:; accepted are memory:, sqlite:PATH and postgres://USER:PASSWORD@HOST:5432/DATABASE")
	case kind == "sqlite":
		return Store{}, ruqi.Invalid("/store", "", "sqlite needs the path of its file: sqlite:/var/lib/ruqi/ruqi.db")
	}
	// Of an address nobody here can read, only a plain kind is shown: the rest may hold a password.
	if !plainKind.MatchString(address) {
		return Store{}, ruqi.Invalid("/store", "", "is no address of a store; accepted are memory:, sqlite:PATH and postgres://USER:PASSWORD@HOST:5432/DATABASE")
	}
	return Store{}, ruqi.Invalid("/store", "", "there is no store of the kind %q; accepted are memory:, sqlite:PATH and postgres://USER:PASSWORD@HOST:5432/DATABASE", kind)
}
