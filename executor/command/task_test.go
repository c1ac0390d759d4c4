package command_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
)

var accepted = []string{
	`{"kind":"command","command":"make report","shell":"/bin/sh","env":{"TO":"ops"},"dir":"/srv","user":"","stdin":""}`,
	`{"kind":"command","argv":["/bin/x","a","","a b"]}`,
	`{"kind":"command","line":" /bin/x  'a b' \"c\"","command":"","argv":null,"dir":"/srv"}`,
	`{"kind":"command","command":"date \"+%H:%M\" && echo <é>","shell":"bash","stdin":"one\ntwo\n"}`,
	`{"kind":"command","argv":["x"],"shell":"/bin/sh","command":"","env":null}`,
	`{"kind":"command","command":"x","user":"www-data","umask":"0022","nice":19,"login":true,"limits":{"cpu_time":"1m","memory_bytes":1048576,"open_files":16,"processes":1}}`,
	`{"kind":"command","argv":["x"],"user":"müller@example.org","umask":"7","nice":0,"login":false,"limits":{}}`,
	`{"kind":"command","argv":["x"],"user":null,"umask":"","nice":null,"login":null,"limits":{"cpu_time":null,"open_files":1024}}`,
}

var refused = map[string][]string{
	`{"kind":"command"}`:                                                                                        {"/command"},
	`{"kind":"command","command":" "}`:                                                                          {"/command"},
	`{"kind":"command","argv":[]}`:                                                                              {"/argv"},
	`{"kind":"command","argv":[""]}`:                                                                            {"/argv/0"},
	`{"kind":"command","command":"x","argv":["x"]}`:                                                             {"/argv"},
	`{"kind":"command","argv":["x"],"shell":"bash"}`:                                                            {"/shell"},
	`{"kind":"command","line":"x 'y"}`:                                                                          {"/line"},
	`{"kind":"command","line":" "}`:                                                                             {"/line"},
	`{"kind":"command","line":"'' x"}`:                                                                          {"/line"},
	`{"kind":"command","line":"x\u0000"}`:                                                                       {"/line"},
	`{"kind":"command","line":1}`:                                                                               {"/line"},
	`{"kind":"command","line":"x","command":"y"}`:                                                               {"/line"},
	`{"kind":"command","line":"x","argv":["y"]}`:                                                                {"/line"},
	`{"kind":"command","line":"x","shell":"bash"}`:                                                              {"/shell"},
	`{"kind":"command","line":"` + strings.Repeat("x", 64<<10+1) + `"}`:                                         {"/line"},
	`{"kind":"command","command":"x","user":"a:b"}`:                                                             {"/user"},
	`{"kind":"command","command":"x","user":"../x"}`:                                                            {"/user"},
	`{"kind":"command","command":"x","user":"a\nb"}`:                                                            {"/user"},
	`{"kind":"command","command":"x","user":"` + strings.Repeat("x", 256) + `"}`:                                {"/user"},
	`{"kind":"command","command":"x","user":0,"umask":18,"nice":"1","login":"yes","limits":[]}`:                 {"/limits", "/login", "/nice", "/umask", "/user"},
	`{"kind":"command","command":"x","umask":"888"}`:                                                            {"/umask"},
	`{"kind":"command","command":"x","umask":"1000"}`:                                                           {"/umask"},
	`{"kind":"command","command":"x","umask":"00022"}`:                                                          {"/umask"},
	`{"kind":"command","command":"x","umask":"+22"}`:                                                            {"/umask"},
	`{"kind":"command","command":"x","umask":"u=rwx"}`:                                                          {"/umask"},
	`{"kind":"command","command":"x","nice":20}`:                                                                {"/nice"},
	`{"kind":"command","command":"x","nice":-1}`:                                                                {"/nice"},
	`{"kind":"command","command":"x","nice":4294967297}`:                                                        {"/nice"},
	`{"kind":"command","command":"x","limits":{"cpu_time":"0s","memory_bytes":0,"open_files":0,"processes":0}}`: {"/limits/cpu_time", "/limits/memory_bytes", "/limits/open_files", "/limits/processes"},
	`{"kind":"command","command":"x","limits":{"cpu_time":"1500ms","memory_bytes":512,"open_files":15,"processes":-1}}`:                         {"/limits/cpu_time", "/limits/memory_bytes", "/limits/open_files", "/limits/processes"},
	`{"kind":"command","command":"x","limits":{"cpu_time":30,"memory_bytes":"1G","open_files":1.5,"processes":true}}`:                           {"/limits/cpu_time", "/limits/memory_bytes", "/limits/open_files", "/limits/processes"},
	`{"kind":"command","command":"x","limits":{"cpu_time":"500d","memory_bytes":9007199254740993,"open_files":1073741825,"processes":4194305}}`: {"/limits/cpu_time", "/limits/memory_bytes", "/limits/open_files", "/limits/processes"},
	`{"kind":"command","command":"x","limits":{"cpu":"30s","open_files":20,"open_files":30}}`:                                                   {"/limits/cpu", "/limits/open_files"},
	`{"kind":"command","Command":"x"}`:                                                                                             {"/Command", "/command"},
	`{"kind":"command","command":"x","command":"y"}`:                                                                               {"/command"},
	`{"kind":"command","command":1,"env":[],"dir":{},"stdin":2}`:                                                                   {"/command", "/dir", "/env", "/stdin"},
	`{"kind":"command","argv":["x",1,null],"shell":2}`:                                                                             {"/argv/1", "/argv/2", "/shell"},
	`{"kind":"command","command":"a\u0000b"}`:                                                                                      {"/command"},
	`{"kind":"command","argv":["x","a\u0000b"]}`:                                                                                   {"/argv/1"},
	`{"kind":"command","command":"x","env":{"A B":"","":"","9":"1"}}`:                                                              {"/env/", "/env/9", "/env/A B"},
	`{"kind":"command","command":"x","env":{"A/B~":"x","A":"\u0000"}}`:                                                             {"/env/A", "/env/A~1B~0"},
	`{"kind":"command","command":"x","env":{"A":1,"A":"x"}}`:                                                                       {"/env/A"},
	`{"kind":"command","command":"x","dir":"\u0000","stdin":"\u0000"}`:                                                             {"/dir", "/stdin"},
	`{"kind":"func","command":"","dir":7,"user":"me","extra":{"a":[]}}`:                                                            {"/command", "/dir", "/extra", "/kind"},
	`{"kind":"command","command":"` + strings.Repeat("x", 64<<10+1) + `"}`:                                                         {"/command"},
	`{"kind":"command","command":"x","stdin":"` + strings.Repeat("x", 64<<10+1) + `"}`:                                             {"/stdin"},
	`{"kind":"command","argv":["x","` + strings.Repeat("x", 32<<10) + `","` + strings.Repeat("x", 32<<10) + `"]}`:                  {"/argv"},
	`{"kind":"command","command":"x","env":{` + manyEnv(257) + `}}`:                                                                {"/env"},
	`{"kind":"command","command":"x","env":{"A":"` + strings.Repeat("x", 40<<10) + `","B":"` + strings.Repeat("x", 40<<10) + `"}}`: {"/env"},
}

func manyEnv(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"V%d":""`, i)
	}
	return strings.Join(entries, ",")
}

func TestTheLargestTaskIsAccepted(t *testing.T) {
	text := `{"kind":"command","command":"` + strings.Repeat("x", 64<<10) + `","env":{` + manyEnv(256) + `},"stdin":"` + strings.Repeat("x", 64<<10) + `"}`
	if _, err := command.New(command.Options{}).Decode([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestCanonicalJSONAndText(t *testing.T) {
	for name, test := range map[string]struct {
		task       *command.Task
		json, text string
	}{
		"a command alone":               {command.Shell("make report"), `{"kind":"command","command":"make report"}`, "make report"},
		"the default shell is left out": {command.Shell("x").WithShell("/bin/sh"), `{"kind":"command","command":"x"}`, "x"},
		"everything given": {
			command.Shell("x").WithShell("/bin/bash").WithEnv(map[string]string{"B": "2", "A": "secret"}).WithDir("/srv").WithStdin("in"),
			`{"kind":"command","command":"x","shell":"/bin/bash","env":{"A":"secret","B":"2"},"dir":"/srv","stdin":"in"}`, "x",
		},
		"what is done before the start": {
			command.Shell("x").WithUser("www-data").WithUmask("22").WithNice(10).WithLogin().WithLimits(command.Limits{CPUTime: 90 * time.Second, MemoryBytes: 1 << 30, OpenFiles: 100, Processes: 20}),
			`{"kind":"command","command":"x","user":"www-data","umask":"022","nice":10,"login":true,"limits":{"cpu_time":"1m30s","memory_bytes":1073741824,"open_files":100,"processes":20}}`, "x",
		},
		"a line is shown as it was written": {
			command.Line(`python  /x.py "a b" $HOME`).WithDir("/srv"),
			`{"kind":"command","line":"python  /x.py \"a b\" $HOME","dir":"/srv"}`, `python  /x.py "a b" $HOME`,
		},
		"one limit alone, and a umask that takes nothing away": {
			command.Argv("x").WithUmask("0").WithLimits(command.Limits{OpenFiles: 16}),
			`{"kind":"command","argv":["x"],"umask":"000","limits":{"open_files":16}}`, "x",
		},
		"what is taken back is left out": {
			command.Argv("x").WithUser("me").WithUser("").WithUmask("7").WithUmask("").WithNice(1).WithNice(0).WithLimits(command.Limits{OpenFiles: 16}).WithLimits(command.Limits{}),
			`{"kind":"command","argv":["x"]}`, "x",
		},
		"arguments are quoted for a shell": {
			command.Argv("/bin/x", "a b", "", "it's", "--n=1", "$HOME", "é"),
			`{"kind":"command","argv":["/bin/x","a b","","it's","--n=1","$HOME","é"]}`, `/bin/x 'a b' '' 'it'\''s' --n=1 '$HOME' é`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := test.task.MarshalJSON()
			if err != nil || string(data) != test.json {
				t.Errorf("the JSON is %s (%v), expected %s", data, err, test.json)
			}
			if got := test.task.String(); got != test.text {
				t.Errorf("the text is %s, expected %s", got, test.text)
			}
		})
	}
}

func TestATaskIsImmutable(t *testing.T) {
	env, argv := map[string]string{"A": "1"}, []string{"x", "y"}
	task := command.Argv(argv...).WithEnv(env)
	changed := task.WithDir("/srv")
	before, _ := task.MarshalJSON()
	env["A"], argv[0] = "2", "z"
	after, _ := task.MarshalJSON()
	if string(before) != string(after) || strings.Contains(string(after), "/srv") {
		t.Errorf("%s became %s; the copy is %v", before, after, changed)
	}
}

func TestAWrongTaskSaysSoWhenItIsWritten(t *testing.T) {
	task := command.Argv().WithEnv(map[string]string{"a b": "\x00"}).WithDir("\xff").WithUser("a\x00b").WithUmask("x").WithNice(-1).
		WithLimits(command.Limits{CPUTime: time.Millisecond, OpenFiles: -1})
	_, err := task.MarshalJSON()
	var invalid *ruqi.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(task.Err(), ruqi.ErrInvalid) {
		t.Fatalf("the error is %v", err)
	}
	pointers := map[string]bool{}
	for _, fault := range invalid.Faults {
		pointers[fault.Pointer] = true
	}
	if got := slices.Sorted(maps.Keys(pointers)); !slices.Equal(got, []string{"/argv", "/dir", "/env/a b", "/limits/cpu_time", "/limits/open_files", "/nice", "/umask", "/user"}) {
		t.Errorf("the faults are at %q", got)
	}
	result := command.New(command.Options{}).Execute(t.Context(), task, ruqi.Execution{Run: &ruqi.Run{}, Output: io.Discard})
	if !errors.Is(result.Err, ruqi.ErrInvalid) {
		t.Errorf("executed, its error is %v", result.Err)
	}
}

// What a relative path is relative to is not for whoever writes a task to know. A stored one is read as it is.
func TestARelativeDirIsRefusedWhereItIsGiven(t *testing.T) {
	e := command.New(command.Options{})
	for _, dir := range []string{"foo", "./foo", "..", "~/foo", ".", " /srv"} {
		task, err := e.Decode(fmt.Appendf(nil, `{"kind":"command","command":"ls","dir":%q}`, dir))
		if err != nil {
			t.Errorf("%q cannot be read: %v", dir, err)
			continue
		}
		var invalid *ruqi.InvalidError
		if err := e.Vet(task); !errors.As(err, &invalid) || len(invalid.Faults) != 1 || invalid.Faults[0].Pointer != "/dir" || !strings.Contains(err.Error(), "write the whole path") {
			t.Errorf("%q is given: %v", dir, err)
		}
	}
	for _, dir := range []string{"", "/", "/srv", t.TempDir()} {
		if err := e.Vet(command.Shell("ls").WithDir(dir)); err != nil {
			t.Errorf("%q is refused: %v", dir, err)
		}
	}
}

// What each run would fail of, or would not see, is told when it is given.
func TestWhatARunWouldNotHaveIsRefusedWhereItIsGiven(t *testing.T) {
	e := command.New(command.Options{})
	withBlank := filepath.Join(t.TempDir(), "my shell")
	if err := os.WriteFile(withBlank, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task *command.Task
		want string // pointers
	}{
		{command.Shell("x").WithShell("sh -e"), "/shell"},
		{command.Shell("x").WithShell("/bin/bash -e"), "/shell"},
		{command.Shell("x").WithShell(withBlank), ""},
		{command.Shell("x").WithShell("bash"), ""},
		{command.Shell("x").WithShell("/opt/shell-of-another-host"), ""},
		{command.Shell("x").WithEnv(map[string]string{"RUQI_RUN_ID": "5", "RUQI_JOB_ID": "y", "RUQI_PROCESS_TREE": ""}), "/env/RUQI_JOB_ID /env/RUQI_PROCESS_TREE /env/RUQI_RUN_ID"},
		{command.Shell("x").WithEnv(map[string]string{"RUQI_SERVER": "http://127.0.0.1:1", "RUQI_PARAM_A": "default"}), ""},
		{command.Shell("x").WithShell("sh -e").WithDir("rel").WithEnv(map[string]string{"RUQI_ATTEMPT": "1"}), "/dir /env/RUQI_ATTEMPT /shell"},
	} {
		var got []string
		var invalid *ruqi.InvalidError
		if err := e.Vet(c.task); errors.As(err, &invalid) {
			for _, f := range invalid.Faults {
				got = append(got, f.Pointer)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.task, got, c.want)
		}
		if text, err := c.task.MarshalJSON(); err != nil {
			t.Error(err)
		} else if _, err := e.Decode(text); err != nil {
			t.Errorf("%s cannot be read when it is stored: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range accepted {
		f.Add([]byte(text))
	}
	for text := range refused {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	e := command.New(command.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := e.Decode(data)
		if err != nil {
			var invalid *ruqi.InvalidError
			if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		first, err := task.MarshalJSON()
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		again, err := e.Decode(first)
		if err != nil {
			t.Fatalf("%s was written and is refused: %v", first, err)
		}
		second, err := again.MarshalJSON()
		if err != nil || string(first) != string(second) || task.String() != again.String() {
			t.Fatalf("written as %s, then as %s (%v)", first, second, err)
		}
	})
}
