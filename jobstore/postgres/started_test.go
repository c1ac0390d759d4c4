package postgres_test

import (
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/netfault"
)

// A run that ended while a claim decided is counted by the claim's write as ended: what the claim starts starts after that end, by
// the rows too, in each form that the write has, and when its answer is lost.
func TestWhatAClaimStartsStartsAfterTheEndsItCounts(t *testing.T) {
	for _, form := range []struct {
		name   string
		change func(*ruqi.Plan)
		lost   bool // of the one batch that writes
	}{
		{"a plain row", func(*ruqi.Plan) {}, false},
		{"a plain row, the answer lost", func(*ruqi.Plan) {}, true},
		{"a row with more", coalesced, false},
		{"a row with more, the answer lost", coalesced, true},
		{"two rows", func(p *ruqi.Plan) {
			skipped := p.Runs[0]
			skipped.Nominal, skipped.State, skipped.Reason = skipped.Nominal.Add(time.Millisecond), ruqi.RunSkipped, "overlap"
			p.Runs = append(p.Runs, skipped)
		}, false},
		{"a queued row", func(p *ruqi.Plan) { p.Runs[0].State = ruqi.RunQueued }, false},
	} {
		t.Run(form.name, func(t *testing.T) {
			b := newBadNetwork(t)
			if warm, err := b.claimAs(t.Context(), 10, coalesced, func() {}); err != nil || len(warm.Runs) != 1 { // its statement is prepared
				t.Fatalf("%d runs claimed, %v", len(warm.Runs), err)
			}
			first, err := b.claim(t.Context(), func() {})
			if err != nil || len(first.Runs) != 1 {
				t.Fatalf("%d runs claimed, %v", len(first.Runs), err)
			}
			if form.name == "a queued row" {
				if queued, err := b.claimAs(t.Context(), 10, form.change, func() {}); err != nil || len(queued.Runs) != 0 {
					t.Fatalf("%d runs started, %v", len(queued.Runs), err)
				}
				form.change = func(p *ruqi.Plan) { p.Runs = nil }
			}
			second, err := b.claimAs(t.Context(), 10, form.change, func() {
				run := first.Runs[0]
				run.State = ruqi.RunFailed
				if _, err := b.sure.Finish(t.Context(), b.owner, []ruqi.Done{{Run: run}}); err != nil {
					t.Error(err)
				}
				if form.lost {
					b.proxy.Cut(netfault.ToClient, 0)
				}
			})
			if err != nil || len(second.Runs) != 1 {
				t.Fatalf("%d runs claimed, %v", len(second.Runs), err)
			}
			page, err := b.sure.Runs(t.Context(), ruqi.RunQuery{IDs: []int64{first.Runs[0].ID, second.Runs[0].ID}})
			if err != nil || len(page.Runs) != 2 {
				t.Fatalf("%d rows, %v", len(page.Runs), err)
			}
			ended, started := page.Runs[0], page.Runs[1]
			if ended.ID != first.Runs[0].ID {
				ended, started = started, ended
			}
			if started.Started.Before(*ended.Finished) {
				t.Errorf("it started %s before the end that the claim counted", ended.Finished.Sub(*started.Started))
			}
			if told := second.Runs[0].Started; !told.Equal(*started.Started) {
				t.Errorf("the claim told that it started at %s, its row says %s", told, started.Started)
			}
		})
	}
}

func coalesced(p *ruqi.Plan) { p.Runs[0].Coalesced, p.Runs[0].CoalescedFrom = 1, &p.Runs[0].Nominal }
