package ruqi

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// HostZone returns the host's zone by its IANA name, found in the order the C
// library does: $TZ, /etc/localtime, /etc/timezone. UTC when none can be named: a zone
// without a name could not be stored. It is the default of Options.Zone.
func HostZone() *time.Location {
	if name, given := os.LookupEnv("TZ"); given {
		return namedZone(strings.TrimPrefix(name, ":"))
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, found := strings.Cut(filepath.ToSlash(target), "/zoneinfo/"); found {
			return namedZone(strings.TrimPrefix(strings.TrimPrefix(name, "posix/"), "right/"))
		}
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		return namedZone(strings.TrimSpace(string(text)))
	}
	return time.UTC
}

func namedZone(name string) *time.Location {
	if name == "" || name == "Local" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
