// Command ruqi is the job scheduler: its service, and the commands that talk to it.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // zones on hosts that have no zone database, as small containers

	"github.com/ruqi-dev/ruqi/cli"
)

// version is set when the program is built for a release.
var version = "dev"

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.System{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: version,
	}))
}
