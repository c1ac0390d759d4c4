// Package cronexpr reads cron expressions of a named dialect and searches the
// wall clock for the times they match. It knows no zones and no instants: times
// are wall seconds, that is seconds since 1970-01-01 00:00:00 as a clock on the
// wall without any offset would count them. Package trigger turns them into
// instants.
//
// A dialect is data (see dialects): the fields in their order, their ranges and
// names, what else each may hold, and the rule for two restricted day fields. A
// new dialect is a new row.
package cronexpr
