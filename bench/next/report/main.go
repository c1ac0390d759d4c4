// The report command prints the comparison of package next as a Markdown table:
//
//	go run ./next/report -rounds 9
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/ruqi-dev/ruqi/bench/next"
)

func main() {
	rounds := flag.Int("rounds", 9, "how often each engine is measured; the median counts")
	flag.Parse()
	results, err := next.Measure(max(*rounds, 1))
	if err == nil {
		err = next.Table(os.Stdout, results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
