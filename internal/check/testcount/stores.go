package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// suite is the test of a store's package that runs the conformance suite, each law as a test below it.
const suite = "TestLaws"

// stores remembers which job stores were tried, by how many laws, and on which servers, so
// that a store or a law that silently was not tried is missed.
type stores struct {
	laws    map[string]int      // that ran to an end, by store
	servers map[string][]string // what tests said of them, by store
}

// take looks for a law that ended, and for the attribute "server" that a test sets.
func (s *stores) take(e event) {
	if path.Base(path.Dir(e.Package)) != "jobstore" {
		return
	}
	name := path.Base(e.Package)
	switch e.Action {
	case "pass", "fail":
		if strings.HasPrefix(e.Test, suite+"/") {
			s.laws[name]++
		}
	case "attr":
		if e.Key == "server" {
			s.servers[name] = append(s.servers[name], e.Value)
		}
	}
}

// line tells it: "stores tried: memory by 95 laws; …", or nothing if there was none.
func (s *stores) line() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.laws)) {
		text := fmt.Sprintf("%s by %d laws", name, s.laws[name])
		if servers := s.servers[name]; len(servers) > 0 {
			text += " (" + strings.Join(servers, "; ") + ")"
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return ""
	}
	return "stores tried: " + strings.Join(all, ", ") + "\n"
}
