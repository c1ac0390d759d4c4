//go:build !unix

package postgrestest

import (
	"errors"
	"syscall"
)

// Without the signals of Unix no private server is started: give refuses the folder, before anything
// else is done.

const sigStop, sigCont = syscall.SIGKILL, syscall.SIGKILL

func give(string) error {
	return errors.New("a private server needs Unix: set " + environment + "=URL to use a server that is there")
}

func detached() *syscall.SysProcAttr { return nil }

func unprivileged() *syscall.SysProcAttr { return nil }

func send(syscall.Signal, ...int) {}

func alive(int) bool { return false }

func stopped(int) bool { return false }

func childrenOf(int) ([]int, error) { return nil, nil }
