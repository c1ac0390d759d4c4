// Package sqlstore holds what the job stores on SQL databases share: the codes
// that stand for words in narrow columns, the cursors of pages, the choice of
// queued runs that may start, and the arithmetic of kept output. It knows no
// driver and no dialect; every function in it is pure.
package sqlstore
