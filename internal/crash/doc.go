// Package crash holds tests that kill the service in every way we could think of and then
// ask the store alone whether each fire has exactly one outcome.
//
// There is nothing to import: history_test.go judges what a store holds, fleet_test.go and
// kill_test.go end whole processes, trace_test.go ends one at a chosen system call, cut_test.go ends a
// log at a chosen byte, and lock_test.go holds the file's lock.
//
// They try the program that users run, so they are for Linux, where it can be traced. The long
// form is chosen by RUQI_CHAOS=long.
package crash
