// Package fieldcase holds tests alone: cases that users of other schedulers reported, each named by its id in docs/field-cases.md
// in the comment of its test, tried on the whole of Ruqi. These are schedulers on a store, in virtual time where time is
// all that matters, and the program itself. What one package alone can show is tested there.
package fieldcase
