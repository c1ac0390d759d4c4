package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverSettings are what river was tuned by.
type riverSettings struct {
	workers, insert int
	cooldown        time.Duration
	// apart: a round's jobs are all inserted before the client is started.
	apart bool
}

// migrateRiver makes river's tables. bare leaves out its two GIN indexes, which nothing but lists by arguments or metadata reads.
func migrateRiver(ctx context.Context, url string, bare bool) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil || !bare {
		return err
	}
	_, err = pool.Exec(ctx, "DROP INDEX river_job_args_index, river_job_metadata_index")
	return err
}

type nothingArgs struct{}

func (nothingArgs) Kind() string { return "nothing" }

type nothingWorker struct {
	river.WorkerDefaults[nothingArgs]
	called *atomic.Int64
}

func (w *nothingWorker) Work(context.Context, *river.Job[nothingArgs]) error {
	w.called.Add(1)
	return nil
}

// A riverWorker is a child that inserts jobs and works them.
type riverWorker struct {
	settings riverSettings
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	called   atomic.Int64
}

func openRiver(ctx context.Context, address string, settings riverSettings) (worker, error) {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	w := &riverWorker{settings: settings, pool: pool}
	return w, w.renew()
}

// renew makes a client: one that was stopped is started no more. Between the rounds none runs, since it would ask the
// server each cooldown.
func (w *riverWorker) renew() error {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &nothingWorker{called: &w.called}); err != nil {
		return err
	}
	var err error
	w.client, err = river.NewClient(riverpgxv5.New(w.pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: w.settings.workers}},
		Workers:       workers,
		FetchCooldown: w.settings.cooldown, FetchPollInterval: w.settings.cooldown,
		JobTimeout: -1, CompletedJobRetentionPeriod: -1, ReindexerSchedule: river.NeverSchedule(),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	return err
}

func (w *riverWorker) close(context.Context) error {
	w.pool.Close()
	return nil
}

func (w *riverWorker) do(ctx context.Context, what string, n int) (answer, error) {
	switch what {
	case "cpu":
		return answer{}, nil
	case "begin":
		if w.settings.apart {
			return answer{}, nil
		}
		return answer{}, w.client.Start(ctx)
	case "round":
		return w.round(ctx, n)
	case "end":
		return answer{}, errors.Join(w.client.Stop(ctx), w.renew())
	}
	return answer{}, fmt.Errorf("river cannot do %q", what)
}

// round inserts n jobs and works them.
func (w *riverWorker) round(ctx context.Context, n int) (a answer, err error) {
	begin, before := time.Now(), w.called.Load()
	for done := 0; done < n; done += w.settings.insert {
		params := make([]river.InsertManyParams, min(w.settings.insert, n-done))
		for i := range params {
			params[i].Args = nothingArgs{}
		}
		if _, err := w.client.InsertManyFast(ctx, params); err != nil {
			return a, err
		}
	}
	inserted := time.Now()
	if w.settings.apart {
		if err := w.client.Start(ctx); err != nil {
			return a, err
		}
	}
	if err := w.worked(ctx, before+int64(n)); err != nil {
		return a, err
	}
	a.Parts = []time.Duration{inserted.Sub(begin), time.Since(inserted)}
	return a, nil
}

// worked waits until the worker was called so often, and every row says completed.
func (w *riverWorker) worked(ctx context.Context, called int64) error {
	err := until(ctx, "river has worked its jobs", time.Millisecond, func() (bool, error) { return w.called.Load() >= called, nil })
	if err != nil {
		return err
	}
	return until(ctx, "river's jobs are completed", 2*time.Millisecond, func() (none bool, err error) {
		err = w.pool.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending'))").Scan(&none)
		return none, err
	})
}
