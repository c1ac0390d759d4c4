// Package postgrestest gives tests a real PostgreSQL. It is for tests and benchmarks only.
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
//
//	func TestX(t *testing.T) {
//		url := postgrestest.Shared(t).Schema(t)
//		…
//	}
//
// [Shared] is one server for all tests of a process; each test takes a schema or a database of
// its own there. [New] is a server that a test has for itself, to kill, stop, pause and start
// again. Both are started from the installed programs, on a free port of 127.0.0.1, with their
// data in a temporary folder. With RUQI_TEST_POSTGRES=URL (a superuser's, or one who may create
// schemas and databases) Shared uses that server in place of its own.
//
// A server that is not there is a failure, never a skipped test. Nothing of a private server
// outlives the test process, however that ends: see guard.go.
package postgrestest
