package wire

import (
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

// A Status is how an instance and its store are.
type Status struct {
	Instance string      `json:"instance"`
	State    string      `json:"state" enum:"stopped,running,paused,stopping"`
	Store    StoreStatus `json:"store"`

	CheckTime   *time.Time `json:"check_time" doc:"When the instance last looked for due jobs."`
	NextWakeup  *time.Time `json:"next_wakeup_time" doc:"When it will look again at the latest for a job it knows of."`
	WaitSeconds *float64   `json:"wait_seconds" doc:"How long until then."`

	Jobs          JobCounts       `json:"jobs"`
	Runs          RunCounts       `json:"runs"`
	Slots         map[string]Slot `json:"slots"`
	Needs         []string        `json:"needs" nullable:"false" doc:"What the instance can run: without command in it, it runs no commands."`
	EventsDropped int64           `json:"events_dropped"`
	Zones         string          `json:"zones" doc:"The zones that fire times are computed with, a hash of each one's offsets behind the name: Europe/Berlin=1c0a1c3f UTC=66a9ea20. Where instances differ, their zone data do."`
	Zone          string          `json:"zone" doc:"Where triggers without a zone live."`
	Version       string          `json:"version"`
}

// StoreStatus is how the store is.
type StoreStatus struct {
	Kind  string `json:"kind"`
	Where string `json:"where" doc:"The store's address without secrets."`
	OK    bool   `json:"ok"`
	Error string `json:"error" doc:"Its last failure; empty when it answers."`
}

// JobCounts counts jobs.
type JobCounts struct {
	Active   *int64 `json:"active" doc:"Null, as all counts here, while the store does not tell."`
	Paused   *int64 `json:"paused"`
	Finished *int64 `json:"finished"`
	Parked   *int64 `json:"parked" doc:"Jobs that no live instance can run; they are counted in their state too."`
}

// RunCounts counts runs in the store.
type RunCounts struct {
	Running *int64 `json:"running" doc:"Null, as queued, while the store does not tell."`
	Queued  *int64 `json:"queued"`
}

// Counted reports whether the store told its counts for a status. One that fails and has nothing in it by its counts told none.
func Counted(s ruqi.Status) bool {
	return s.StoreError == "" || len(s.Jobs) > 0 || s.Running > 0 || s.Queued > 0
}

// A Slot is how full a pool is.
type Slot struct {
	Used int `json:"used"`
	Size int `json:"size"`
}

// FromStatus returns the status's shape; now is what wait_seconds counts from.
func FromStatus(s ruqi.Status, now time.Time) Status {
	kind, _, _ := strings.Cut(s.Store, ":")
	shape := Status{
		Instance: s.Instance, State: s.State,
		Store:     StoreStatus{Kind: kind, Where: s.Store, OK: s.StoreError == "", Error: s.StoreError},
		CheckTime: inUTC(s.CheckTime), NextWakeup: inUTC(s.NextWakeup),
		Slots: map[string]Slot{}, Needs: append([]string{}, s.Needs...), EventsDropped: s.EventsDropped, Zones: s.Zones, Zone: s.Zone, Version: s.Release,
	}
	if Counted(s) {
		count := func(n int64) *int64 { return &n }
		shape.Jobs = JobCounts{
			Active: count(s.Jobs[ruqi.JobActive]), Paused: count(s.Jobs[ruqi.JobPaused]),
			Finished: count(s.Jobs[ruqi.JobFinished]), Parked: count(s.Parked),
		}
		shape.Runs = RunCounts{Running: count(s.Running), Queued: count(s.Queued)}
	}
	if s.NextWakeup != nil {
		wait := max(s.NextWakeup.Sub(now), 0).Round(time.Microsecond).Seconds()
		shape.WaitSeconds = &wait
	}
	for pool, use := range s.Slots {
		shape.Slots[pool] = Slot(use)
	}
	return shape
}

// Status returns the library's status.
func (s Status) Status() ruqi.Status {
	status := ruqi.Status{
		Instance: s.Instance, State: s.State, Store: s.Store.Where, StoreError: s.Store.Error,
		CheckTime: inUTC(s.CheckTime), NextWakeup: inUTC(s.NextWakeup),
		Jobs:   map[ruqi.JobState]int64{},
		Parked: known(s.Jobs.Parked), Running: known(s.Runs.Running), Queued: known(s.Runs.Queued),
		Slots: map[string]ruqi.SlotUse{}, Needs: s.Needs, EventsDropped: s.EventsDropped, Release: s.Version, Zone: s.Zone, Zones: s.Zones,
	}
	for state, n := range map[ruqi.JobState]*int64{ruqi.JobActive: s.Jobs.Active, ruqi.JobPaused: s.Jobs.Paused, ruqi.JobFinished: s.Jobs.Finished} {
		if n != nil {
			status.Jobs[state] = *n
		}
	}
	for pool, slot := range s.Slots {
		status.Slots[pool] = ruqi.SlotUse(slot)
	}
	return status
}

// known is a count, 0 where it is not known.
func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
