// Package httpapi serves jobs and runs over HTTP as /api/v1, described by OpenAPI 3.1
// at /api/openapi.json, and says at /healthz and /readyz how it is.
//
// Every route but those two asks for a bearer token; there are no cookies, so
// a browser that is led here by another site carries no rights with it. /ruqi/*, for clients of the original
// service, is package legacy behind the same limits and tokens.
//
// Where to start reading: New puts the house together; jobs.go, runs.go, output.go, preview.go and
// status.go hold the routes; problem.go says how failures are told.
package httpapi
