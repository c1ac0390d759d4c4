package arch_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ruqi-dev/ruqi/internal/arch"
)

var checks = []struct {
	name  string
	check func(fs.FS) ([]arch.Violation, error)
}{
	{"imports", arch.CheckImports},
	{"lines of files", arch.CheckFiles},
	{"methods of interfaces", arch.CheckInterfaces},
	{"words", arch.CheckWords},
	{"pointers", arch.CheckPointers},
}

// root is this module's tree.
func root() fs.FS { return os.DirFS(filepath.Join("..", "..")) }

func TestTheModuleKeepsItsRules(t *testing.T) {
	text, err := os.ReadFile("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	exceptions, err := arch.ReadExceptions(string(text))
	if err != nil {
		t.Fatalf("exceptions.txt: %v", err)
	}
	var all []arch.Violation
	for _, c := range checks {
		found, err := c.check(root())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		all = append(all, found...)
	}
	for _, v := range arch.Allow(root(), all, exceptions) {
		t.Error(v)
	}
}

func TestTheModuleIsRead(t *testing.T) {
	packages, err := arch.Packages(root())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range packages {
		seen[p.Dir] = len(p.Files)
	}
	if seen["."] < 10 || seen["internal/arch"] < 5 {
		t.Fatalf("read the packages %v: the rules would have judged an empty house", seen)
	}
}

// TestPlantedViolations gives each rule a tree that breaks it. A rule that stays
// silent is not a rule.
func TestPlantedViolations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no planted trees: %v, %v", files, err)
	}
	tried := map[string]bool{}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, tree := plant(t, string(text))
			tried[want] = true
			found, err := arch.CheckImports(tree)
			if err != nil {
				t.Fatal(err)
			}
			one(t, want, found)
		})
	}
	for _, room := range arch.Rooms {
		if !tried[room.Name] {
			t.Errorf("rule %s has no planted violation", room.Name)
		}
	}
}

func TestSizesAndWordsFindWhatIsPlanted(t *testing.T) {
	line := "// a line\n"
	methods := func(name string, from, to int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "type %s interface {\n", name)
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "\tM%d()\n", i)
		}
		return b.String()
	}
	cases := []struct {
		title string
		want  string // rule; empty: nothing is to be found
		check func(fs.FS) ([]arch.Violation, error)
		files map[string]string
	}{
		{"600 lines pass", "", arch.CheckFiles,
			map[string]string{"long.go": "package ruqi\n" + strings.Repeat(line, 599)}},
		{"601 lines are too many", "file-fits-in-the-head", arch.CheckFiles,
			map[string]string{"long.go": "package ruqi\n" + strings.Repeat(line, 600)}},
		{"tests count, in other modules too", "file-fits-in-the-head", arch.CheckFiles,
			map[string]string{"bench/go.mod": "module bench\n", "bench/a_test.go": strings.Repeat(line, 601)}},
		{"TypeScript counts", "file-fits-in-the-head", arch.CheckFiles,
			map[string]string{"ui/src/app.tsx": strings.Repeat(line, 601)}},
		{"fetched packages do not count", "", arch.CheckFiles,
			map[string]string{"ui/node_modules/x/x.ts": strings.Repeat(line, 601)}},
		{"15 methods pass", "", arch.CheckInterfaces,
			map[string]string{"a.go": "package ruqi\n" + methods("Store", 0, 15) + "}\n"}},
		{"16 methods are too many", "interface-is-small", arch.CheckInterfaces,
			map[string]string{"a.go": "package ruqi\n" + methods("Store", 0, 16) + "}\n"}},
		{"embedded methods count", "interface-is-small", arch.CheckInterfaces,
			map[string]string{"a.go": "package ruqi\n" + methods("Store", 0, 8) + "\tMore\n}\n" + methods("More", 8, 16) + "}\n"}},
		{"a name for two interfaces passes", "", arch.CheckInterfaces,
			map[string]string{"a.go": "package ruqi\n" + methods("Jobs", 0, 14) + "}\n" + methods("Records", 14, 19) + "}\n" +
				"type Store interface {\n\tJobs\n\tRecords\n}\n"}},
		{"a method that is embedded twice counts once", "", arch.CheckInterfaces,
			map[string]string{"a.go": "package ruqi\n" + methods("Store", 0, 8) + "\tMore\n}\n" + methods("More", 0, 15) + "}\n"}},
		{"embedding across packages counts", "interface-is-small", arch.CheckInterfaces,
			map[string]string{
				"a.go": "package ruqi\n" + methods("Store", 0, 9) + "}\n",
				"jobstore/multi/b.go": "package multi\nimport \"github.com/ruqi-dev/ruqi\"\n" +
					methods("Store", 9, 16) + "\truqi.Store\n}\n",
			}},
		{"a second escaper of pointers", "one-pointer-escaper", arch.CheckPointers,
			map[string]string{"wire/a.go": "package wire\nvar escape = strings.NewReplacer(\"~\", \"~0\", \"/\", \"~1\")\n"}},
		{"the one escaper of pointers passes", "", arch.CheckPointers,
			map[string]string{"internal/object/pointer.go": "package object\nvar escape = strings.NewReplacer(\"~\", \"~0\", \"/\", \"~1\")\n"}},
		{"a stub word", "no-stub-words", arch.CheckWords,
			map[string]string{"a.go": "package ruqi // TO" + "DO: more\n"}},
		{"a stub word in a text passes", "", arch.CheckWords,
			map[string]string{"docs/guide.md": "We have no TO" + "DO list.\n"}},
		{"a skipped test", "no-skipped-tests", arch.CheckWords,
			map[string]string{"a_test.go": "package ruqi\nfunc TestX(t *testing.T) { t.Sk" + "ip() }\n"}},
		{"a skipped fuzz input", "no-skipped-tests", arch.CheckWords,
			map[string]string{"a_test.go": "package ruqi\nfunc F(f *testing.F) { f.Sk" + "ipNow() }\n"}},
		{"a path of a machine", "no-machine-paths", arch.CheckWords,
			map[string]string{"README.md": "see /wo" + "rk/main\n"}},
		{"what git keeps in a worktree passes", "", arch.CheckWords,
			map[string]string{".git": "gitdir: /wo" + "rk/main/.git/worktrees/x\n"}},
		{"a registry's host", "no-registry-hosts", arch.CheckWords,
			map[string]string{"Makefile": "GOPROXY=https://proxy.go" + "lang.org\n"}},
		{"a registry's host in a lock file passes", "", arch.CheckWords,
			map[string]string{"ui/package-lock.json": "https://registry.np" + "mjs.org/x\n"}},
		{"binary files pass", "", arch.CheckWords,
			map[string]string{"a.db": "\x00/wo" + "rk/main\n"}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, text := range c.files {
				tree[name] = &fstest.MapFile{Data: []byte(text)}
			}
			found, err := c.check(tree)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				for _, v := range found {
					t.Errorf("found %v in a tree without fault", v)
				}
				return
			}
			one(t, c.want, found)
		})
	}
}

func TestExceptions(t *testing.T) {
	long := arch.Violation{Rule: "file-fits-in-the-head", Where: "long.go"}
	tree := fstest.MapFS{"docs/adr/0100-long.md": {}}
	cases := []struct {
		title, list, want string
		found             []arch.Violation
	}{
		{"an exception with a record allows", "file-fits-in-the-head long.go docs/adr/0100-long.md # why", "", []arch.Violation{long}},
		{"it allows its own subject only", "", "file-fits-in-the-head", []arch.Violation{long}},
		{"one that nothing needs is refused", "file-fits-in-the-head long.go docs/adr/0100-long.md", "exception-is-needed", nil},
		{"one without a record is refused", "file-fits-in-the-head long.go docs/adr/0101-gone.md", "exception-has-a-record", []arch.Violation{long}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			list, err := arch.ReadExceptions("# comment\n\n" + c.list + "\n")
			if err != nil {
				t.Fatal(err)
			}
			left := arch.Allow(tree, c.found, list)
			if c.want == "" {
				if len(left) != 0 {
					t.Errorf("left %v", left)
				}
				return
			}
			one(t, c.want, left)
		})
	}
	if _, err := arch.ReadExceptions("rule subject"); err == nil {
		t.Error("a line without a record was read")
	}
}

// one fails unless found is one violation of the rule.
func one(t *testing.T, rule string, found []arch.Violation) {
	t.Helper()
	if len(found) != 1 || found[0].Rule != rule {
		t.Errorf("want one violation of %s, found %v", rule, found)
	}
}

// plant reads a planted tree: "want: RULE", then files, each below a line
// "-- NAME --".
func plant(t *testing.T, text string) (want string, tree fstest.MapFS) {
	t.Helper()
	tree = fstest.MapFS{}
	var name string
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, "-- ") && strings.HasSuffix(bare, " --"):
			name = strings.TrimSpace(strings.Trim(bare, "-"))
			tree[name] = &fstest.MapFile{}
		case name != "":
			tree[name].Data = append(tree[name].Data, line...)
		case strings.HasPrefix(bare, "want:"):
			want = strings.TrimSpace(strings.TrimPrefix(bare, "want:"))
		}
	}
	if want == "" || len(tree) == 0 {
		t.Fatal("a planted tree needs a line \"want: RULE\" and files")
	}
	return want, tree
}
