package sqlstore_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

func TestCodesAreThoseInTheFiles(t *testing.T) {
	for want, state := range []ruqi.RunState{"queued", "running", "succeeded", "failed", "timed_out", "cancelled", "lost", "missed", "skipped"} {
		code, err := sqlstore.RunStateCode(state)
		if err != nil || code != int64(want) || sqlstore.RunState(code) != state {
			t.Errorf("run state %s: code %d, %v", state, code, err)
		}
	}
	for want, state := range []ruqi.JobState{"active", "paused", "finished"} {
		code, err := sqlstore.JobStateCode(state)
		if err != nil || code != int64(want) || sqlstore.JobState(code) != state {
			t.Errorf("job state %s: code %d, %v", state, code, err)
		}
	}
	for want, cause := range []ruqi.Cause{"schedule", "manual", "retry", "startup", "backfill", "dependency"} {
		code, err := sqlstore.CauseCode(cause)
		if err != nil || code != int64(want) || sqlstore.Cause(code) != cause {
			t.Errorf("cause %s: code %d, %v", cause, code, err)
		}
	}
	if _, err := sqlstore.RunStateCode("asleep"); !errors.Is(err, ruqi.ErrInvalid) {
		t.Errorf("an unknown state: %v", err)
	}
	if got := len(ruqi.RunStates()); got != 9 {
		t.Errorf("there are %d run states now; give the new ones codes", got)
	}
}

func TestCursorsAreOfOneList(t *testing.T) {
	c := sqlstore.Cursor{Sort: "name", Text: "отчёт\x00", ID: `a"b`}
	got, err := sqlstore.ParseCursor(c.String(), "name")
	if err != nil || got != c {
		t.Errorf("%+v came back as %+v, %v", c, got, err)
	}
	for _, text := range []string{"x", "!!", "e30", c.String() + "A", sqlstore.Cursor{Sort: "id"}.String()} {
		var invalid *ruqi.InvalidError
		if _, err := sqlstore.ParseCursor(text, "name"); !errors.As(err, &invalid) || invalid.Faults[0].Pointer != "/cursor" {
			t.Errorf("cursor %q: %v", text, err)
		}
	}
}

func TestStartable(t *testing.T) {
	now := time.Unix(1000, 0)
	row := func(id int64, due int, cause ruqi.Cause, batch int64) sqlstore.Queued {
		return sqlstore.Queued{ID: id, Due: now.Add(time.Duration(due) * time.Second), Cause: cause, Batch: batch}
	}
	first := map[int64]int64{7: 1}
	for _, c := range []struct {
		rule string
		job  sqlstore.Standing
		rows []sqlstore.Queued
		want []int64
	}{
		{"a row starts at its due time", sqlstore.Standing{State: ruqi.JobActive, MaxInstances: 9},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseRetry, 0), row(2, 1, ruqi.CauseRetry, 0)}, []int64{1}},
		{"no more start than there is room for", sqlstore.Standing{State: ruqi.JobActive, MaxInstances: 2, Active: 1},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseManual, 0), row(2, 0, ruqi.CauseManual, 0)}, []int64{1}},
		{"at the limit none starts", sqlstore.Standing{State: ruqi.JobActive, MaxInstances: 1, Active: 1},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseManual, 0)}, nil},
		{"of a paused job only manual rows start", sqlstore.Standing{State: ruqi.JobPaused, MaxInstances: 9},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseSchedule, 7), row(2, 0, ruqi.CauseRetry, 0), row(3, 0, ruqi.CauseManual, 0)}, []int64{3}},
		{"of a finished job every kind starts", sqlstore.Standing{State: ruqi.JobFinished, MaxInstances: 9, First: first},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseSchedule, 7), row(2, 0, ruqi.CauseRetry, 0), row(3, 0, ruqi.CauseManual, 0)}, []int64{1, 2, 3}},
		{"of a batch only the oldest starts, whatever the limit", sqlstore.Standing{State: ruqi.JobActive, MaxInstances: 1, Active: 3, First: first},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseSchedule, 7), row(2, 0, ruqi.CauseSchedule, 7)}, []int64{1}},
		{"none of a batch that runs", sqlstore.Standing{State: ruqi.JobActive, MaxInstances: 9, First: first, Busy: map[int64]bool{7: true}},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseSchedule, 7)}, nil},
		{"a job always has room for one", sqlstore.Standing{State: ruqi.JobActive},
			[]sqlstore.Queued{row(1, 0, ruqi.CauseManual, 0)}, []int64{1}},
	} {
		var got []int64
		for _, q := range sqlstore.Startable(now, c.job, c.rows) {
			got = append(got, q.ID)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, not %v", c.rule, got, c.want)
		}
	}
}

// TestAppendKeepsTheEnds compares what is kept with the whole stream, for random caps,
// writes, repeats and holes.
func TestAppendKeepsTheEnds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		limit := random.Int64N(40) + 1
		var e sqlstore.Extent
		kept := map[int64]byte{}
		var whole []int // -1: a byte that the writer had to drop
		for range random.IntN(20) {
			at := int64(len(whole))
			switch random.IntN(5) {
			case 0:
				at += random.Int64N(10) // a hole
			case 1:
				at -= random.Int64N(at + 1) // a repeat
			}
			data := make([]byte, random.IntN(30))
			for i := range data {
				data[i] = byte(random.Uint32())
				if n := at + int64(i); n < int64(len(whole)) && whole[n] >= 0 {
					data[i] = byte(whole[n])
				}
			}
			for int64(len(whole)) < at {
				whole = append(whole, -1)
			}
			for i, b := range data {
				if at+int64(i) == int64(len(whole)) {
					whole = append(whole, int(b))
				}
			}
			var pieces []sqlstore.Piece
			e, pieces = e.Append(limit, at, bytes.Clone(data))
			for _, p := range pieces {
				if p.At < limit/2 && p.At+int64(len(p.Bytes)) > limit/2 {
					t.Fatalf("a piece at %d of %d bytes reaches over the half of %d", p.At, len(p.Bytes), limit)
				}
				for i, b := range p.Bytes {
					kept[p.At+int64(i)] = b
				}
			}
			for n := range kept {
				if n >= limit/2 && n < e.Tail {
					delete(kept, n)
				}
			}
		}
		if e.Bytes != int64(len(whole)) {
			t.Fatalf("%d bytes of %d", e.Bytes, len(whole))
		}
		cut := false
		for n, b := range whole {
			want := b >= 0 && (int64(n) < limit/2 || int64(n) >= int64(len(whole))-(limit-limit/2))
			got, has := kept[int64(n)]
			if has != want || has && got != byte(b) {
				t.Fatalf("cap %d, byte %d of %d: kept %v, expected %v", limit, n, len(whole), has, want)
			}
			cut = cut || !want
		}
		if e.Cut != cut {
			t.Fatalf("cap %d, %d bytes: cut is %v", limit, len(whole), e.Cut)
		}
	}
}
