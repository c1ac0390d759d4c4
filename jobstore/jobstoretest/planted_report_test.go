package jobstoretest_test

import (
	"context"
	"slices"

	"github.com/ruqi-dev/ruqi"
)

// told changes the updates before a good store writes them.
func told(b *broken, change func(*ruqi.RunUpdate)) {
	b.write = func(ctx context.Context, o ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
		updates = slices.Clone(updates)
		for i := range updates {
			change(&updates[i])
		}
		return b.Store.WriteRuns(ctx, o, updates)
	}
}

// endings changes the ends before a good store writes them.
func endings(b *broken, change func(*ruqi.Run)) {
	b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
		done = slices.Clone(done)
		for i := range done {
			change(&done[i].Run)
		}
		return b.Store.Finish(ctx, o, done)
	}
}

// asOwner does something in the name of each run's owner, whoever asks.
func (b *broken) asOwner(ctx context.Context, id int64, do func(ruqi.Owner) error) error {
	page, err := b.Store.Runs(ctx, ruqi.RunQuery{IDs: []int64{id}, States: []ruqi.RunState{ruqi.RunRunning}})
	for _, r := range page.Runs {
		if err == nil {
			err = do(r.Owner)
		}
	}
	return err
}

var reportFaults = []fault{
	breaking("writes no progress without output", "WriteRuns/progress", func(b *broken) {
		told(b, func(u *ruqi.RunUpdate) {
			if len(u.Output) == 0 {
				u.Progress = nil
			}
		})
	}),
	breaking("writes no progress beside output", "WriteRuns/progress", func(b *broken) {
		told(b, func(u *ruqi.RunUpdate) {
			if len(u.Output) > 0 {
				u.Progress = nil
			}
		})
	}),
	breaking("takes no word for a progress of 0", "WriteRuns/progress", func(b *broken) {
		told(b, func(u *ruqi.RunUpdate) {
			if u.Progress == nil {
				u.Progress = new(float64)
			}
		})
	}),
	breaking("takes a progress of 0 for no word", "WriteRuns/progress", func(b *broken) {
		told(b, func(u *ruqi.RunUpdate) {
			if u.Progress != nil && *u.Progress == 0 {
				u.Progress = nil
			}
		})
	}),
	breaking("keeps an older text where the new one is empty", "WriteRuns/progress", func(b *broken) {
		last := map[int64]string{}
		told(b, func(u *ruqi.RunUpdate) {
			if u.Progress != nil && u.ProgressText == "" {
				u.ProgressText = last[u.ID]
			}
			last[u.ID] = u.ProgressText
		})
	}),
	breaking("keeps half of the digits", "WriteRuns/progress", func(b *broken) {
		told(b, func(u *ruqi.RunUpdate) {
			if u.Progress != nil {
				half := float64(float32(*u.Progress))
				u.Progress = &half
			}
		})
	}),
	breaking("writes the progress of others", "WriteRuns/progress fence", func(b *broken) {
		b.write = func(ctx context.Context, o ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
			for _, u := range updates {
				if u.Progress == nil {
					continue
				}
				err := b.asOwner(ctx, u.ID, func(owner ruqi.Owner) error {
					_, err := b.Store.WriteRuns(ctx, owner, []ruqi.RunUpdate{{ID: u.ID, Progress: u.Progress, ProgressText: u.ProgressText}})
					return err
				})
				if err != nil {
					return nil, err
				}
			}
			return b.Store.WriteRuns(ctx, o, updates)
		}
	}),
	breaking("drops late progress without a word", "WriteRuns/progress fence", func(b *broken) {
		b.write = func(ctx context.Context, o ruqi.Owner, updates []ruqi.RunUpdate) ([]int64, error) {
			late, err := b.Store.WriteRuns(ctx, o, updates)
			return slices.DeleteFunc(late, func(id int64) bool {
				return slices.ContainsFunc(updates, func(u ruqi.RunUpdate) bool { return u.ID == id && u.Progress != nil })
			}), err
		}
	}),
	breaking("forgets results", "Finish/told", func(b *broken) {
		endings(b, func(r *ruqi.Run) { r.Result = nil })
	}),
	breaking("keeps results only of processes", "Finish/told", func(b *broken) {
		endings(b, func(r *ruqi.Run) {
			if r.ExitCode == nil {
				r.Result = nil
			}
		})
	}),
	breaking("cuts results", "Finish/told", func(b *broken) {
		endings(b, func(r *ruqi.Run) { r.Result = r.Result[:min(len(r.Result), 1<<12)] })
	}),
	breaking("takes back the progress with the end", "Finish/told", func(b *broken) {
		endings(b, func(r *ruqi.Run) {
			if r.Progress == nil {
				r.Progress = new(float64)
			}
		})
	}),
	breaking("hears no last progress", "Finish/told", func(b *broken) {
		endings(b, func(r *ruqi.Run) { r.Progress = nil })
	}),
	breaking("writes what a late end tells", "Finish/told late", func(b *broken) {
		b.finish = func(ctx context.Context, o ruqi.Owner, done []ruqi.Done) ([]int64, error) {
			for _, d := range done {
				if d.Run.Progress == nil {
					continue
				}
				err := b.asOwner(ctx, d.Run.ID, func(owner ruqi.Owner) error {
					_, err := b.Store.WriteRuns(ctx, owner, []ruqi.RunUpdate{{ID: d.Run.ID, Progress: d.Run.Progress, ProgressText: d.Run.ProgressText}})
					return err
				})
				if err != nil {
					return nil, err
				}
			}
			return b.Store.Finish(ctx, o, done)
		}
	}),
}
