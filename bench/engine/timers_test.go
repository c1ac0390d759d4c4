package main

import (
	"testing"
	"time"
)

// On a slow machine 100,000 timers take more than the second that they have.
func TestTimersThatAreSetLateFireAllTheSame(t *testing.T) {
	const n = 1000
	fired := make(chan bool, 10*n)
	stop := setTimers(n, time.Now().Add(-time.Hour), time.Hour, func() { fired <- true })
	defer stop()
	for range n {
		select {
		case <-fired:
		case <-time.After(10 * time.Second):
			t.Fatal("not all have fired")
		}
	}
}
