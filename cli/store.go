package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/standard"
)

func (a *app) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Look after the store that services keep jobs and runs in",
		Long: "Works on the store itself, not through a service: the one that \"ruqi serve\" would take, or the one that --store or RUQI_STORE names.\n" +
			"Services may work on it meanwhile.",
	}
	var address string
	add := func(use, short, long string, do func(ctx context.Context, address string) error) {
		sub := &cobra.Command{Use: use, Short: short, Long: long, Args: exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.storeSettings(cmd, &address); err != nil {
				return err
			}
			return do(cmd.Context(), address)
		}}
		sub.Flags().StringVar(&address, "store", "", "`store`, where jobs and runs are kept, as for serve (default: ruqi.db in the data directory)")
		cmd.AddCommand(sub)
	}
	add("migrate", "Bring the store up to this release", "Makes the store where there is none, and brings its schema up to this release. A service does the same when it starts;\n"+
		"this is for doing it at another time, or as another user. Several may do so at once.", a.migrateStore)
	add("status", "Show what is in the store, and its schema", "Shows what is in the store, and its schema. It changes nothing.", a.storeStatus)
	add("check", "Look for damage in the store", "Looks for damage in the store, and for rows that no release of Ruqi would have written. It changes nothing, reads\n"+
		"everything, and ends with 1 when something is wrong.", a.checkStore)
	return group(cmd)
}

// storeSettings finds the address of the store as serve does.
func (a *app) storeSettings(cmd *cobra.Command, address *string) error {
	names, faults := a.fromEnvironment(cmd.Flags(), "store")
	a.nameFlags(names)
	if *address == "" && len(faults) == 0 {
		dir, err := a.dataDirectory()
		if err != nil {
			return err
		}
		*address = "sqlite:" + databasePath(dir)
		if cmd.Name() == "migrate" {
			return makeDataDirectory(dir)
		}
	}
	return errors.Join(faults...)
}

// A kept is a store that was opened to be looked after.
type kept struct {
	standard.Store
	ruqi.Caretaker
	// where is the address without secrets.
	where  string
	schema ruqi.SchemaState
}

// openStore opens the store, as it is or brought up.
func (a *app) openStore(ctx context.Context, address string, keepSchema bool) (k kept, err error) {
	logger := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if k.Store, err = standard.OpenStore(ctx, address, standard.StoreOptions{Logger: logger, KeepSchema: keepSchema}); err != nil {
		return k, err
	}
	k.where = address
	if d, ok := k.Jobs.(ruqi.Locator); ok {
		k.where = d.Location()
	}
	var ok bool
	if k.Caretaker, ok = k.Jobs.(ruqi.Caretaker); !ok {
		err = ruqi.Invalid("/store", "", "%s has no schema, and nothing that could be looked after: it is gone with the process that holds it", k.where)
	} else {
		k.schema, err = k.Schema(ctx)
	}
	if err != nil {
		return k, errors.Join(err, k.Jobs.Close())
	}
	return k, nil
}

func (a *app) migrateStore(ctx context.Context, address string) error {
	before, err := a.openStore(ctx, address, true)
	if err != nil {
		return err
	}
	if err := before.Jobs.Close(); err != nil {
		return err
	}
	after, err := a.openStore(ctx, address, false)
	if err != nil {
		return err
	}
	if err := after.Jobs.Close(); err != nil {
		return err
	}
	from, to := before.schema.Has, after.schema.Has
	switch {
	case a.output == "json":
		return a.printJSON(struct {
			Store string `json:"store"`
			From  int    `json:"from"`
			To    int    `json:"to"`
		}{after.where, from, to})
	case from == 0:
		return a.print("%s: made with schema %d\n", after.where, to)
	case from < to:
		return a.print("%s: schema %d → %d\n", after.where, from, to)
	case to > after.schema.Knows:
		return a.print("%s: already at %d; this release knows schemas up to %d, and may work on it\n", after.where, to, after.schema.Knows)
	}
	return a.print("%s: already at %d\n", after.where, to)
}

// A storeStatus is what there is to say of a store. What cannot be counted is null.
type storeStatus struct {
	Store     string           `json:"store"`
	Kind      string           `json:"kind"`
	Schema    storeSchema      `json:"schema"`
	Jobs      map[string]int64 `json:"jobs"`
	Runs      map[string]int64 `json:"runs"`
	Instances *storeInstances  `json:"instances"`
	// Bytes is the size of the files; null where it is not in files of this host.
	Bytes *int64 `json:"bytes"`
}

type storeSchema struct {
	Has    int `json:"has"`
	Knows  int `json:"knows"`
	Oldest int `json:"oldest"`
}

type storeInstances struct {
	Registered int `json:"registered"`
	Alive      int `json:"alive"`
}

func (a *app) storeStatus(ctx context.Context, address string) (err error) {
	k, err := a.openStore(ctx, address, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Jobs.Close()) }()
	status := storeStatus{Store: k.where, Schema: storeSchema(k.schema), Bytes: fileSize(k.where)}
	status.Kind, _, _ = strings.Cut(k.where, ":")
	if k.schema.Has >= k.schema.Knows {
		if err := k.count(ctx, &status); err != nil {
			return err
		}
	}
	if a.output == "json" {
		return a.printJSON(status)
	}
	return a.printTable(statusTable(status))
}

// count fills in what is in the store.
func (k *kept) count(ctx context.Context, status *storeStatus) error {
	counts, err := k.Jobs.Count(ctx)
	if err != nil {
		return err
	}
	status.Jobs = map[string]int64{}
	for _, state := range []ruqi.JobState{ruqi.JobActive, ruqi.JobPaused, ruqi.JobFinished} {
		status.Jobs[string(state)] = counts.Jobs[state]
	}
	status.Runs = map[string]int64{"running": counts.Running, "queued": counts.Queued}
	now, err := k.Now(ctx)
	if err != nil {
		return err
	}
	instances, err := k.Jobs.Instances(ctx)
	if err != nil {
		return err
	}
	status.Instances = &storeInstances{Registered: len(instances)}
	for i := range instances {
		if instances[i].Alive(now) {
			status.Instances.Alive++
		}
	}
	return nil
}

// fileSize returns the size of a store's files; nil where it is not in files, or there are none.
func fileSize(where string) *int64 {
	path, isFile := strings.CutPrefix(where, "sqlite:")
	info, err := os.Stat(path)
	if !isFile || err != nil {
		return nil
	}
	bytes := info.Size()
	if log, err := os.Stat(path + "-wal"); err == nil {
		bytes += log.Size()
	}
	return &bytes
}

func statusTable(s storeStatus) *table {
	t := &table{}
	t.row("kind", s.Kind)
	t.row("store", s.Store)
	schema := fmt.Sprintf("%d, the newest that this release knows", s.Schema.Has)
	switch {
	case s.Schema.Has == 0:
		schema = fmt.Sprintf("none yet; ruqi store migrate, or a service that starts, makes schema %d", s.Schema.Knows)
	case s.Schema.Has < s.Schema.Knows:
		schema = fmt.Sprintf("%d; ruqi store migrate, or a service that starts, brings it up to %d", s.Schema.Has, s.Schema.Knows)
	case s.Schema.Has > s.Schema.Knows:
		schema = fmt.Sprintf("%d, of a newer release; this one knows schemas up to %d, and may work on it", s.Schema.Has, s.Schema.Knows)
	}
	t.row("schema", schema)
	if s.Jobs != nil {
		t.row("jobs", fmt.Sprintf("%d active, %d paused, %d finished", s.Jobs["active"], s.Jobs["paused"], s.Jobs["finished"]))
		t.row("runs", fmt.Sprintf("%d running, %d queued", s.Runs["running"], s.Runs["queued"]))
		t.row("instances", fmt.Sprintf("%d alive of %d", s.Instances.Alive, s.Instances.Registered))
	}
	if s.Bytes != nil {
		t.row("size", size(*s.Bytes))
	}
	return t
}

func (a *app) checkStore(ctx context.Context, address string) (err error) {
	k, err := a.openStore(ctx, address, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Jobs.Close()) }()
	faults, err := k.Check(ctx)
	if err != nil {
		return err
	}
	switch {
	case a.output == "json":
		err = a.printJSON(struct {
			Store  string   `json:"store"`
			Faults []string `json:"faults"`
		}{k.where, append([]string{}, faults...)})
	case len(faults) == 0:
		err = a.print("%s: no faults found\n", k.where)
	default:
		for i, fault := range faults {
			faults[i] = escape(fault)
		}
		err = a.print("%s\n", strings.Join(faults, "\n"))
	}
	if err != nil || len(faults) == 0 {
		return err
	}
	return &silentError{exitFailed}
}
