// Package sqlstore holds what the job stores on SQL databases share: the codes
// that stand for words in narrow columns, the cursors of pages, the choice of
// queued runs that may start, the arithmetic of kept output and its rows, the faults that a check tells, the order of migrations, the definitions kept in
// memory, and how far cleaning has come. It knows no driver and no dialect.
package sqlstore
