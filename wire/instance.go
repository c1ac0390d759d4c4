package wire

import (
	"time"

	"github.com/ruqi-dev/ruqi"
)

// An Instance is one scheduler process as the store knows it.
type Instance struct {
	ID            string         `json:"id"`
	Epoch         int64          `json:"epoch"`
	State         string         `json:"state" enum:"running,paused,stopping,lost" doc:"What it last said of itself; lost: its lease has ended, so it has died or cannot reach the store."`
	Started       time.Time      `json:"started_at"`
	Heartbeat     time.Time      `json:"heartbeat_at" doc:"Its last sign of life, on the store's clock."`
	LeaseUntil    time.Time      `json:"lease_until" doc:"Until when the store takes it for alive without another."`
	Slots         map[string]int `json:"slots" doc:"The sizes of its pools."`
	Needs         []string       `json:"needs" nullable:"false" doc:"What it can run."`
	Version       string         `json:"version"`
	ClockOffsetMS *int64         `json:"clock_offset_ms" doc:"How many milliseconds its clock is ahead of the store's, negative when it is behind; null: not known yet."`
	Zones         string         `json:"zones" doc:"As zones of the status."`
}

// FromInstance returns the instance's shape.
func FromInstance(i ruqi.Instance) Instance {
	shape := Instance{
		ID: i.Owner.Instance, Epoch: i.Owner.Epoch, State: i.State,
		Started: i.Started.UTC(), Heartbeat: i.Beat.UTC(), LeaseUntil: i.LeaseUntil.UTC(),
		Slots: map[string]int{}, Needs: append([]string{}, i.Needs...), Version: i.Release, Zones: i.Zones,
	}
	for pool, size := range i.Slots {
		shape.Slots[pool] = size
	}
	if i.ClockOffset != nil {
		ms := i.ClockOffset.Round(time.Millisecond).Milliseconds()
		shape.ClockOffsetMS = &ms
	}
	return shape
}

// Instance returns the library's instance. Its lease is what it had from its last beat on, its clock offset is in whole
// milliseconds.
func (i Instance) Instance() ruqi.Instance {
	instance := ruqi.Instance{
		Owner: ruqi.Owner{Instance: i.ID, Epoch: i.Epoch}, State: i.State,
		Started: i.Started.UTC(), Beat: i.Heartbeat.UTC(), LeaseUntil: i.LeaseUntil.UTC(), Lease: i.LeaseUntil.Sub(i.Heartbeat),
		Slots: i.Slots, Needs: i.Needs, Release: i.Version, Zones: i.Zones,
	}
	if i.ClockOffsetMS != nil {
		offset := time.Duration(*i.ClockOffsetMS) * time.Millisecond
		instance.ClockOffset = &offset
	}
	return instance
}

// An InstanceList is the instances that share a store. It has one page.
type InstanceList struct {
	Page[Instance]
	Now time.Time `json:"now" doc:"The time on the store's clock, which heartbeats and leases are told on."`
}

// FromInstances returns the list's shape.
func FromInstances(list ruqi.InstanceList) InstanceList {
	shape := InstanceList{Page: Page[Instance]{Items: make([]Instance, 0, len(list.Instances))}, Now: list.Now.UTC()}
	for _, instance := range list.Instances {
		shape.Items = append(shape.Items, FromInstance(instance))
	}
	total := int64(len(list.Instances))
	shape.Total = &total
	return shape
}

// Instances returns the library's list.
func (l InstanceList) Instances() ruqi.InstanceList {
	list := ruqi.InstanceList{Now: l.Now.UTC()}
	for _, item := range l.Items {
		list.Instances = append(list.Instances, item.Instance())
	}
	return list
}
