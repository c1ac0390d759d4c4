package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/jobfile"
	"github.com/ruqi-dev/ruqi/wire"
)

// An appliedItem is what apply and diff tell of a job in JSON.
type appliedItem struct {
	ID     string `json:"id"`
	Action action `json:"action"`
	// File is FILE:LINE:COLUMN of the job; empty for one that is removed.
	File    string `json:"file"`
	Adopted bool   `json:"adopted"`
	// Done is false for what was not done, or may not have been, since something failed.
	Done *bool `json:"done,omitempty"`
	// Changes are the members that differ, Secret that one does which is not shown.
	Changes []jobfile.Difference `json:"changes"`
	Secret  bool                 `json:"secret"`
}

type appliedSummary struct {
	Items   []appliedItem  `json:"items"`
	Summary map[action]int `json:"summary"`
	DryRun  bool           `json:"dry_run"`
}

// item is the step as JSON.
func (s *step) item() (appliedItem, error) {
	item := appliedItem{ID: s.id, Action: s.action, Adopted: s.adopted, Changes: []jobfile.Difference{}, Secret: s.secret}
	if s.doc != nil {
		item.File = s.doc.Where("")
	}
	changes, err := s.changes()
	if len(changes) > 0 {
		item.Changes = changes
	}
	return item, err
}

// changes are what differs of a job that is there, and all that is said of a new one.
func (s *step) changes() ([]jobfile.Difference, error) {
	switch s.action {
	case create:
		found, err := jobfile.Says(s.after.JobSpec, s.doc.Gives)
		if s.after.State == ruqi.JobPaused {
			found = append(found, jobfile.Difference{Pointer: "/state", New: string(ruqi.JobPaused)})
		}
		return found, err
	case change:
		return s.differences, nil
	}
	return nil, nil
}

// summary counts what is, or was, done.
func (p *plan) summary() map[action]int {
	n := map[action]int{create: 0, change: 0, unchanged: 0, remove: 0}
	for _, s := range p.steps {
		if s.done {
			n[s.action]++
		}
	}
	return n
}

// printApplied tells what was done to each job, and of each kind how many. What was not done is not listed, but in JSON.
func (a *app) printApplied(p *plan, dryRun bool) error {
	n := p.summary()
	if a.output == "json" {
		list := appliedSummary{Items: []appliedItem{}, Summary: n, DryRun: dryRun}
		for _, s := range p.steps {
			item, err := s.item()
			if err != nil {
				return err
			}
			item.Done = &s.done
			list.Items = append(list.Items, item)
		}
		return a.printJSON(list)
	}
	var b strings.Builder
	for _, s := range p.steps {
		switch {
		case !s.done:
			continue
		case s.action == create || s.action == change:
			next := "no fire to come"
			if s.after.NextDue != nil {
				next = "next at " + clock(s.after.NextDue, wire.Zone(s.after.Trigger))
			}
			fmt.Fprintf(&b, "%s %s: %s, %s\n", s.action, escape(s.id), s.after.State, next)
		default:
			fmt.Fprintf(&b, "%s %s\n", s.action, escape(s.id))
		}
	}
	fmt.Fprintf(&b, "%d created, %d changed, %d unchanged, %d removed\n", n[create], n[change], n[unchanged], n[remove])
	return a.print("%s", b.String())
}

// printDiff tells what apply would do. The exit status is 1 when that is anything at all.
func (a *app) printDiff(p *plan) error {
	for _, s := range p.steps {
		s.done = true // in the summary all count
	}
	n := p.summary()
	differ := n[create]+n[change]+n[remove] > 0
	var err error
	if a.output == "json" {
		err = a.printDiffJSON(p, n)
	} else {
		err = a.printDiffText(p, n)
	}
	if err == nil && differ {
		return &silentError{exitFailed}
	}
	return err
}

func (a *app) printDiffJSON(p *plan, n map[action]int) error {
	list := appliedSummary{Items: []appliedItem{}, Summary: n, DryRun: true}
	for _, s := range p.steps {
		if s.action == unchanged {
			continue
		}
		item, err := s.item()
		if err != nil {
			return err
		}
		list.Items = append(list.Items, item)
	}
	return a.printJSON(list)
}

func (a *app) printDiffText(p *plan, n map[action]int) error {
	marks := map[action]string{create: "+", change: "~", remove: "-"}
	var b strings.Builder
	for _, s := range p.steps {
		if s.action == unchanged {
			continue
		}
		where := ""
		if s.doc != nil {
			where = "  (" + escape(s.doc.Where("")) + ")"
		}
		fmt.Fprintf(&b, "%s %s%s\n", marks[s.action], escape(s.id), where)
		changes, err := s.changes()
		if err != nil {
			return err
		}
		for _, d := range changes {
			writeDifference(&b, d, s.action)
		}
		if s.secret {
			b.WriteString("    task: a secret that is not shown\n")
		}
	}
	fmt.Fprintf(&b, "%d to create, %d to change, %d unchanged, %d to remove\n", n[create], n[change], n[unchanged], n[remove])
	return a.print("%s", b.String())
}

// writeDifference writes one member; a text of several lines with the lines that differ below each other.
func writeDifference(b *strings.Builder, d jobfile.Difference, what action) {
	name := escape(jobfile.Dotted(d.Pointer))
	before, isText := d.Old.(string)
	after, areTexts := d.New.(string)
	switch {
	case isText && areTexts && (strings.Contains(before, "\n") || strings.Contains(after, "\n")):
		fmt.Fprintf(b, "    %s:\n", name)
		writeLines(b, strings.Split(before, "\n"), strings.Split(after, "\n"))
	case what == create:
		fmt.Fprintf(b, "    %s: %s\n", name, shown(d.New))
	default:
		fmt.Fprintf(b, "    %s: %s -> %s\n", name, shown(d.Old), shown(d.New))
	}
}

// writeLines writes the lines that differ, without those that begin and end both texts.
func writeLines(b *strings.Builder, before, after []string) {
	first := 0
	for first < min(len(before), len(after)) && before[first] == after[first] {
		first++
	}
	before, after = before[first:], after[first:]
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	fmt.Fprintf(b, "      from line %d on:\n", first+1)
	for i, line := range slices.Concat(before, after) {
		sign := "-"
		if i >= len(before) {
			sign = "+"
		}
		fmt.Fprintf(b, "      %s %s\n", sign, escape(line))
	}
}

// shown writes a value of JSON in one line that is harmless on a terminal.
func shown(value any) string {
	if value == nil {
		return "none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return escape(string(plainJSON(text)))
}
