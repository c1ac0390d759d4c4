// Package netfault puts a bad network between a client and a server: a TCP proxy on
// loopback whose faults tests switch at any time, for each direction apart.
//
// A fault is what a network does, not what a program does. Bytes that were dropped leave
// a hole in their connection, so nothing passes it in that direction ever again; whoever
// heals it finds it reset. The end of a connection travels like its bytes: late, or not at all.
//
// Only tests import this package.
package netfault
