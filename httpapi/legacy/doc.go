// Package legacy speaks /ruqi/*, the HTTP API of the Python service whose place this one takes, with the clients that were written for it.
// Both generations of its names are served, with its fields, its stat words and its headers; docs/legacy-api.md says what
// works and what differs.
//
// It stands on ruqi.Operations and a Registry alone: to the scheduler its jobs are jobs like all others.
//
// Where to start reading: handler.go takes a request from the door to its answer; door.go says who may; job.go, history.go and
// status.go hold the routes; rule.go and cmd.go turn the two texts that a job is made of there into trigger and task, and back.
package legacy
