// Package cli is the ruqi program: the service (serve), and a command for every operation of its API.
//
// Tables are for people and go to standard output, as JSON does with -o json; what goes wrong goes to standard
// error. A command that was used wrongly, or given bad input, writes nothing to standard output.
//
// Where to start reading: Run; then serve.go for the service, job.go and run.go for the commands, apply.go and
// plan.go for job files that are kept in git.
package cli
