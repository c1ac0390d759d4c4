// Package wire holds the JSON shapes of /api/v1, which the server (httpapi), the
// client and the commands share, and turns them into the library's types and back.
//
// Times are RFC 3339 with an offset and keep microseconds; lengths of time are
// texts such as "90s" or "1h30m"; what is absent is null, never a zero that means something else.
package wire
