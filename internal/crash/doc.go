// Package crash holds tests that kill the service in every way we could think of and then
// ask the store alone whether each fire has exactly one outcome.
//
// There is nothing to import. history_test.go judges what a store holds, and witness_test.go what became of rows that
// had ended; load_test.go is the load, and ledger_test.go what its users were told. A site (service_test.go) is a store,
// whichever, and the services on it. fleet_test.go, kill_test.go and hammer_test.go end and stop whole processes;
// the hammer also spoils the network and kills the server where there are any, as postgres_test.go has it.
// clock_test.go is a service whose clock is off, calendar_test.go kills one that plans jobs anew, spread_test.go has many services on one server. Three are for SQLite:
// trace_test.go ends a process at a chosen system call, cut_test.go ends a log at a chosen byte, and lock_test.go
// holds the file's lock.
//
// They try the program that users run, so they are for Linux, where it can be traced. The long
// form is chosen by RUQI_CHAOS=long.
package crash
