package arch

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Room says what the packages in it may import, beside the standard library.
type Room struct {
	// Name is the rule's name. Packages is a pattern of folders: path.Match, with a
	// last element "..." for a folder and everything below it.
	Name, Packages string
	// May lists the patterns of folders of this module that it may import, Modules
	// the third-party modules.
	May, Modules []string
	// Reason says why there is nothing more.
	Reason string
}

// Rooms are the packages of the module, from the bottom up. The first pattern that fits
// a package is its room; a package without a room is refused.
var Rooms = []Room{
	{
		Name: "check-stands-alone", Packages: "internal/arch",
		Reason: "the rules must not lean on what they judge",
	},
	{
		Name: "check-stands-alone", Packages: "internal/check/...",
		Reason: "tools of the build must work while the rest does not compile",
	},
	{
		Name: "test-server-knows-its-driver-only", Packages: "internal/postgrestest",
		Modules: []string{"github.com/jackc/pgx/v5"},
		Reason:  "it starts PostgreSQL for the tests of any package, so it needs none of them",
	},
	{
		Name: "leaf-is-std-only", Packages: "internal/...",
		Reason: "leaves are pure logic that the library's users compile; one that needs another package is no leaf",
	},
	{
		Name: "root-imports-no-driver", Packages: ".",
		May:    []string{"internal/*"},
		Reason: "whoever imports the library compiles no database, web or command line package",
	},
	{
		Name: "suite-knows-one-interface", Packages: "trigger/triggertest",
		May:    []string{".", "internal/*"},
		Reason: "a conformance suite must fit implementations that nobody here knows",
	},
	{
		Name: "suite-knows-one-interface", Packages: "executor/executortest",
		May:    []string{".", "internal/*"},
		Reason: "a conformance suite must fit implementations that nobody here knows",
	},
	{
		Name: "suite-knows-one-interface", Packages: "jobstore/jobstoretest",
		May:    []string{".", "internal/*"},
		Reason: "a conformance suite must fit implementations that nobody here knows",
	},
	{
		Name: "trigger-is-pure", Packages: "trigger",
		May:    []string{".", "internal/*", "trigger/daycal"},
		Reason: "a trigger is a value: it needs no store, no executor and no third party",
	},
	{
		Name: "only-daycal-imports-rrule", Packages: "trigger/daycal",
		May:     []string{".", "internal/*"},
		Modules: []string{"github.com/teambition/rrule-go"},
		Reason:  "a calendar is a value that triggers are held against; it knows none of them",
	},
	{
		Name: "calendar-knows-records", Packages: "calendar",
		May:    []string{".", "trigger", "trigger/daycal", "internal/*"},
		Reason: "it keeps calendars in whatever store of records it is given, for the triggers that name them",
	},
	{
		Name: "shared-part-knows-no-sibling", Packages: "executor/internal/...",
		May:    []string{".", "internal/*", "executor/internal/..."},
		Reason: "what executors share must not bring one of them along",
	},
	{
		Name: "shared-part-knows-no-sibling", Packages: "jobstore/internal/...",
		May:    []string{".", "internal/*", "jobstore/internal/..."},
		Reason: "what stores share must not bring one of them, or its driver, along",
	},
	{
		Name: "only-webhook-imports-x-net", Packages: "executor/webhook",
		May:     []string{".", "internal/*", "executor/internal/..."},
		Modules: []string{"golang.org/x/net"},
		Reason:  "each executor can be taken or left alone",
	},
	{
		Name: "siblings-never-meet", Packages: "executor/*",
		May:    []string{".", "internal/*", "executor/internal/..."},
		Reason: "each executor can be taken or left alone",
	},
	{
		Name: "only-sqlite-imports-its-driver", Packages: "jobstore/sqlite",
		May:     []string{".", "internal/*", "jobstore/internal/..."},
		Modules: []string{"modernc.org/sqlite"},
		Reason:  "each store can be taken or left alone, with its driver",
	},
	{
		Name: "only-postgres-imports-its-driver", Packages: "jobstore/postgres",
		May:     []string{".", "internal/*", "jobstore/internal/..."},
		Modules: []string{"github.com/jackc/pgx/v5"},
		Reason:  "each store can be taken or left alone, with its driver",
	},
	{
		Name: "siblings-never-meet", Packages: "jobstore/...",
		May:    []string{".", "internal/*", "jobstore/internal/..."},
		Reason: "each store can be taken or left alone, with its driver",
	},
	{
		Name: "wire-is-shapes", Packages: "wire",
		May:    []string{".", "internal/*"},
		Reason: "the shapes are shared by server and client, so they know neither",
	},
	{
		Name: "client-speaks-wire", Packages: "client",
		May:    []string{".", "wire", "internal/*"},
		Reason: "a program that talks to a service compiles no server, no store and no executor",
	},
	{
		Name: "legacy-stands-on-operations", Packages: "httpapi/legacy",
		May:    []string{".", "internal/*"},
		Reason: "what old clients speak is a thin coat over the operations and the registry: no store, no executor, no other API",
	},
	{
		Name: "only-httpapi-imports-huma", Packages: "httpapi/...",
		May:     []string{".", "wire", "internal/*", "httpapi/...", "ui"},
		Modules: []string{"github.com/danielgtaylor/huma/v2"},
		Reason:  "the API serves whatever store and registry it is given; it decodes through the registry",
	},
	{
		Name: "ui-is-files", Packages: "ui",
		Reason: "the user interface is an embedded build that talks to the API like any client",
	},
	{
		Name: "standard-gathers", Packages: "standard",
		May:    []string{".", "trigger", "calendar", "executor/*", "jobstore/*", "internal/*"},
		Reason: "it lists what is built in, and does nothing else",
	},
	{
		Name: "reader-asks-nobody", Packages: "cli/*",
		May:     []string{".", "trigger", "wire", "internal/*", "cli/jobfile"},
		Modules: []string{"github.com/goccy/go-yaml"},
		Reason:  "what reads the files of others turns text into definitions; package cli asks services, reads flags and prints",
	},
	{
		Name: "only-cli-imports-cobra", Packages: "cli/...",
		May:     []string{".", "trigger", "trigger/daycal", "executor/*", "jobstore/*", "wire", "client", "httpapi/...", "standard", "ui", "internal/*", "cli/..."},
		Modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/goccy/go-yaml"},
		Reason:  "commands stand above everything; nothing below knows of flags or job files",
	},
	{
		Name: "main-is-small", Packages: "cmd/*",
		May:    []string{"cli", "standard"},
		Reason: "a main package only calls cli, so that everything else can be tested",
	},
}

// testMay and testModules are what tests of any package may import beside what their
// room allows. Tests are compiled by nobody else, so they may reach sideways; third
// parties still need a name here.
var (
	testMay     = []string{"..."}
	testModules = []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/danielgtaylor/huma/v2", "github.com/spf13/cobra", "github.com/goccy/go-yaml", "go.uber.org/goleak"}
)

// testPackages are for tests only, as the conformance suites are.
var testPackages = []string{"internal/cronplain", "internal/netfault", "internal/programtest"}

// mainLines is the most lines of a main package, its comment, imports and all.
const mainLines = 40

// CheckImports applies the rooms to the packages of tree.
func CheckImports(tree fs.FS) ([]Violation, error) {
	packages, err := Packages(tree)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, p := range packages {
		room, ok := roomOf(p.Dir)
		if !ok {
			found = append(found, Violation{"every-package-has-a-room", p.Dir,
				"no room in internal/arch/imports.go fits this package: say there what it may import, and why"})
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(p.Imports)) {
			if dir, ok := local(imported); ok && (isSuite(dir) && !isSuite(p.Dir) || slices.Contains(testPackages, dir)) {
				found = append(found, Violation{"suites-are-for-tests", p.Imports[imported],
					fmt.Sprintf("imports %s, which only tests may: a program must not carry what tries it", imported)})
				continue
			}
			if !allowed(imported, room.May, room.Modules) {
				found = append(found, Violation{room.Name, p.Imports[imported],
					fmt.Sprintf("imports %s: %s", imported, room.Reason)})
			}
		}
		for _, imported := range slices.Sorted(maps.Keys(p.TestImports)) {
			if !allowed(imported, append(testMay, room.May...), append(testModules, room.Modules...)) {
				found = append(found, Violation{"test-imports-are-named", p.TestImports[imported],
					fmt.Sprintf("imports %s: third parties in tests are named in internal/arch/imports.go", imported)})
			}
		}
		if room.Name == "main-is-small" {
			for _, name := range p.Files {
				source, err := fs.ReadFile(tree, path.Join(p.Dir, name))
				if err != nil {
					return nil, err
				}
				if n := strings.Count(string(source), "\n"); n > mainLines {
					found = append(found, Violation{room.Name, path.Join(p.Dir, name),
						fmt.Sprintf("has %d lines, at most %d: %s", n, mainLines, room.Reason)})
				}
			}
		}
	}
	return found, nil
}

func roomOf(dir string) (Room, bool) {
	for _, room := range Rooms {
		if match(room.Packages, dir) {
			return room, true
		}
	}
	return Room{}, false
}

// testServers are packages that start programs for tests.
var testServers = []string{"internal/postgrestest"}

// isSuite reports whether a folder is a conformance suite, or starts servers for tests.
func isSuite(dir string) bool {
	parent, base := path.Base(path.Dir(dir)), path.Base(dir)
	return base == parent+"test" || slices.Contains(testServers, dir)
}

func allowed(imported string, may, modules []string) bool {
	if standard(imported) {
		return true
	}
	if dir, ok := local(imported); ok {
		return slices.ContainsFunc(may, func(pattern string) bool { return match(pattern, dir) })
	}
	return slices.ContainsFunc(modules, func(m string) bool {
		return imported == m || strings.HasPrefix(imported, m+"/")
	})
}

// match is path.Match with "..." as a last element for a folder and all below it.
// internal/* never means the folders of checks.
func match(pattern, dir string) bool {
	if pattern == "internal/*" && (dir == "internal/arch" || dir == "internal/check") {
		return false
	}
	if pattern == "..." {
		return true
	}
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == above || strings.HasPrefix(dir, above+"/")
	}
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}
