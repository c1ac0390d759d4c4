package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A filter is a WHERE clause in the making: fixed texts, and values for their parameters.
type filter struct {
	terms []string
	args  []any
}

// value adds a value and returns its parameter.
func (f *filter) value(v any) string {
	f.args = append(f.args, v)
	return fmt.Sprintf("$%d", len(f.args))
}

func (f *filter) add(term string) { f.terms = append(f.terms, term) }

func (f *filter) where() string { return " WHERE " + f.all() }

// all is the terms as one condition.
func (f *filter) all() string {
	if len(f.terms) == 0 {
		return "true"
	}
	return strings.Join(f.terms, " AND ")
}

// clone is a filter that can grow by itself.
func (f *filter) clone() filter { return filter{slices.Clone(f.terms), slices.Clone(f.args)} }

// jobs adds the terms of a query but its ids and cursor, for the tables named j and d.
func (f *filter) jobs(query ruqi.JobQuery) error {
	if len(query.Tags) > 0 {
		f.add("d.tags @> " + f.value(query.Tags) + "::text[]")
	}
	if query.Name != "" {
		f.add("d.name = " + f.value(query.Name))
	}
	if query.Pool != "" {
		f.add("j.pool = " + f.value(query.Pool))
	}
	if query.State != "" {
		code, err := sqlstore.JobStateCode(query.State)
		if err != nil {
			return ruqi.Invalid("/state", string(query.State), "a job has no such state")
		}
		f.add("j.state = " + f.value(int16(code)))
	}
	if query.Version != 0 {
		f.add("d.version = " + f.value(query.Version))
	}
	if query.OnStart {
		f.add("d.on_start")
	}
	if query.Search != "" {
		text := f.value(query.Search)
		// lower() of the collation C knows the letters of ASCII alone.
		f.add(fmt.Sprintf(`(strpos(lower(d.id), lower(%[1]s COLLATE "C")) > 0 OR strpos(lower(d.name), lower(%[1]s COLLATE "C")) > 0)`, text))
	}
	return nil
}
