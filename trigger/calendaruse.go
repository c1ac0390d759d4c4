package trigger

import (
	"maps"
	"slices"

	"github.com/ruqi-dev/ruqi"
)

var (
	_ ruqi.CalendarUser = (*AnyTrigger)(nil)
	_ ruqi.CalendarUser = (*AllTrigger)(nil)
	_ ruqi.CalendarUser = (*ExceptTrigger)(nil)
	_ ruqi.CalendarUser = (*OnlyTrigger)(nil)
)

// Calendars returns the named calendars that the parts use.
func (t *AnyTrigger) Calendars() []ruqi.CalendarUse { return usesOf(t) }

// Calendars returns the named calendars that the parts use.
func (t *AllTrigger) Calendars() []ruqi.CalendarUse { return usesOf(t) }

// Calendars returns the named calendars that the trigger and what it is held against use.
func (t *ExceptTrigger) Calendars() []ruqi.CalendarUse { return usesOf(t) }

// Calendars returns the named calendars that the trigger and what it is held against use.
func (t *OnlyTrigger) Calendars() []ruqi.CalendarUse { return usesOf(t) }

// usesOf returns the named calendars of a trigger made of others, by name. Of one that was resolved twice while it changed,
// the older version counts.
func usesOf(c composite) []ruqi.CalendarUse {
	versions := map[string]int64{}
	note := func(name string, version int64) {
		if old, twice := versions[name]; twice {
			version = min(version, old)
		}
		versions[name] = version
	}
	triggers, parts := c.parts()
	for _, p := range parts {
		if p.name != "" {
			note(p.name, p.version)
		}
	}
	for _, inner := range triggers {
		if user, ok := inner.(ruqi.CalendarUser); ok {
			for _, use := range user.Calendars() {
				note(use.Name, use.Version)
			}
		}
	}
	var uses []ruqi.CalendarUse
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		uses = append(uses, ruqi.CalendarUse{Name: name, Version: versions[name]})
	}
	return uses
}
