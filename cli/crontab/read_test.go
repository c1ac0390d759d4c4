package crontab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ruqi-dev/ruqi/cli/crontab"
)

func one(t *testing.T, text string, o crontab.Options) shape {
	t.Helper()
	r := crontab.Read([]byte(text), o)
	if len(r.Jobs) != 1 || len(r.Faults) > 0 {
		t.Fatalf("%q: %d jobs, %v", text, len(r.Jobs), r.Faults)
	}
	return shapeOf(t, r.Jobs[0])
}

func TestVariablesAsCronReadsThem(t *testing.T) {
	for line, want := range map[string]string{
		`X=one`:                    "one",
		`X = one`:                  "one",
		"\t X\t=\tone \t":          "one",
		`X="one  two "`:            "one  two ",
		`X='one "two"'`:            `one "two"`,
		`X="it's"`:                 "it's",
		`"X" = 'one'`:              "one",
		`'X'=one two # no comment`: "one two # no comment",
		`X=$HOME/bin:~/x`:          "$HOME/bin:~/x",
		`X=a"b"`:                   `a"b"`,
		`X==`:                      "=",
		`X=`:                       "",
		`X=""`:                     "",
		`X=\n`:                     `\n`,
		`X=100%`:                   "100%",
	} {
		s := one(t, line+"\n* * * * * true", crontab.Options{})
		if got, given := s.Task.Env["X"]; got != want || !given {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestPlacesOfVariables(t *testing.T) {
	s := one(t, "HOME=/srv/x\nSHELL=/bin/bash\n@daily true", crontab.Options{Home: func(string) string { return "/root" }})
	if s.Task.Dir != "/srv/x" || s.Task.Env["HOME"] != "/srv/x" || s.Task.Shell != "/bin/bash" || s.Task.Env["SHELL"] != "/bin/bash" {
		t.Errorf("HOME and SHELL: %+v", s.Task)
	}
	s = one(t, "SHELL=\n@daily true", crontab.Options{})
	if s.Task.Shell != "/bin/sh" || s.Task.Env["SHELL"] != "/bin/sh" {
		t.Errorf("an empty SHELL: %+v", s.Task)
	}
	s = one(t, "@daily alice true", crontab.Options{System: true, Home: func(user string) string { return "/home/" + user }})
	if s.Task.Dir != "/home/alice" {
		t.Errorf("cron starts at home, this in %q", s.Task.Dir)
	}
	r := crontab.Read([]byte("@daily a\nX=1\n@daily b\nX=2\n@daily c\n"), crontab.Options{})
	for i, want := range []string{"", "1", "2"} {
		if got := shapeOf(t, r.Jobs[i]).Task.Env["X"]; got != want {
			t.Errorf("job %d has X=%q, want %q", i, got, want)
		}
	}
}

func TestWhoseJobsTheyAre(t *testing.T) {
	named, own := "bob", ""
	for _, c := range []struct {
		name, text string
		o          crontab.Options
		want       string
	}{
		{"a user's table", "@daily true", crontab.Options{}, ""},
		{"a user's table, the user given", "@daily true", crontab.Options{User: &named}, "bob"},
		{"the column", "@daily www-data true", crontab.Options{System: true}, "www-data"},
		{"the option wins over the column", "@daily www-data true", crontab.Options{System: true, User: &named}, "bob"},
		{"the service's own for all", "@daily www-data true", crontab.Options{System: true, User: &own}, ""},
	} {
		if s := one(t, c.text, c.o); s.Task.User != c.want || s.Task.Command != "true" {
			t.Errorf("%s: %+v", c.name, s.Task)
		}
	}
}

// A table whose lines end as those of an old Macintosh is one line to cron, and must not pass for a comment or one command.
func TestLinesThatEndWithACarriageReturnAloneAreRefused(t *testing.T) {
	for text, want := range map[string]struct{ jobs, faults int }{
		"0 1 * * * a\r0 2 * * * b\r":             {0, 1},
		"# daily\r0 1 * * * a\r":                 {0, 1},
		"A=b\r0 1 * * * a\r\n0 2 * * * b\n":      {1, 1},
		"# daily\r\n\r\n\r\r\n0 1 * * * a\r\r\n": {1, 0},
	} {
		r := crontab.Read([]byte(text), crontab.Options{})
		if len(r.Jobs) != want.jobs || len(r.Faults) != want.faults || want.faults > 0 && !strings.Contains(r.Faults[0].Text, "carriage return") {
			t.Errorf("%q: %d jobs, %v", text, len(r.Jobs), r.Faults)
		}
	}
}

// CM11: a table that names users, read as one that does not.
func TestASystemTableReadAsAUsersIsToldApart(t *testing.T) {
	for _, s := range samples(t) {
		if !s.options.System {
			continue
		}
		r := crontab.Read(s.data, crontab.Options{})
		if len(r.Jobs) > 0 || len(r.Faults) == 0 {
			t.Errorf("%s: %d jobs are taken, their users as programs", s.name, len(r.Jobs))
			continue
		}
		for _, f := range r.Faults {
			if !strings.Contains(f.Text, "--system") {
				t.Errorf("%s:%d: no hint: %s", s.name, f.Line, f.Text)
			}
		}
	}
	r := crontab.Read([]byte("0 5 * * * root\n0 5 * * * git pull\n0 5 * * * /bin/root x\n0 5 * * * echo if [ x\n0 5 * * * time [ x ]\n0 5 * * * bob cd\n"), crontab.Options{})
	if len(r.Jobs) != 6 || len(r.Notes) > 0 {
		t.Errorf("%d jobs, %v, %v", len(r.Jobs), r.Faults, r.Notes)
	}
	r = crontab.Read([]byte("1 5 * * * /bin/a\n2 5 * * * echo hi\n3 5 * * * www-data -x\n4 5 * * * git pull\n5 5 * * * find /tmp -delete\n6 5 * * * ann x\n"), crontab.Options{})
	if len(r.Jobs) != 5 || len(r.Faults) != 1 || r.Faults[0].Line != 3 || !strings.Contains(r.Faults[0].Text, `"www-data", is the name of a user`) || !strings.Contains(r.Faults[0].Text, "--system") {
		t.Errorf("one line of a system table in a user's: %d jobs, %v", len(r.Jobs), r.Faults)
	}
	r = crontab.Read([]byte("1 5 * * * root /bin/a\n2 5 * * * backup /bin/b\n3 5 * * * www-data cd / && x\n4 5 * * * /bin/c\n"), crontab.Options{})
	if len(r.Jobs) != 1 || len(r.Faults) != 3 {
		t.Errorf("one line of a user's table in a system table: %d jobs, %v", len(r.Jobs), r.Faults)
	}
	r = crontab.Read([]byte("1 5 * * * until [ -f /tmp/x ]; do sleep 1; done\n2 5 * * * until cd /mnt; do sleep 1; done\n"), crontab.Options{})
	if len(r.Jobs) != 2 || len(r.Faults) != 0 {
		t.Errorf("words of the shell in a user's table: %d jobs, %v", len(r.Jobs), r.Faults)
	}
	r = crontab.Read([]byte("0 5 * * * bob x y\n0 5 * * * bob\n0 5 * * * ann x\n"), crontab.Options{IsUser: func(name string) bool { return name == "bob" }})
	if len(r.Jobs) != 3 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0].Text, "is a user of this host") || !strings.Contains(r.Notes[0].Text, "--system") {
		t.Errorf("a user that the host knows: %v", r.Notes)
	}
	r = crontab.Read([]byte("0 5 * * * /usr/bin/php -f x.php\n0 5 * * * 7zip x\n0 5 * * * root:wheel x\n0 5 * * * root\n0 5 * * * root \t \n"), crontab.Options{System: true})
	if len(r.Jobs) != 0 || len(r.Faults) != 5 || !strings.Contains(r.Faults[0].Text, "is no name of a user") || !strings.Contains(r.Faults[2].Text, "with a group or a class") {
		t.Errorf("a user's table read as the system's: %d jobs, %v", len(r.Jobs), r.Faults)
	}
}

// Where nothing says whether word 6 is a user or a program, nobody runs the wrong one of the two.
func TestAWordThatMayBeAUserOrAProgramIsAskedAbout(t *testing.T) {
	known := func(name string) bool { return name == "deploy" || name == "node" }
	for name, c := range map[string]struct {
		text    string
		refused []int // lines, for what is unclear
		told    bool
	}{
		"a user that is a program as well":        {"0 5 * * * git /usr/bin/a\n", []int{1}, false},
		"a program of that name":                  {"0 5 * * * git pull\n1 5 * * * java -jar x\n2 5 * * * node app.js\n", nil, false},
		"a user of the host":                      {"0 5 * * * deploy rsync a b\n1 5 * * * node /srv/app.js\n2 5 * * * node app.js\n3 5 * * * deploy x\n", []int{1, 2}, false},
		"a tie":                                   {"0 5 * * * root /bin/a\n1 5 * * * git /bin/b\n2 5 * * * find /tmp -delete\n", []int{2}, false},
		"a name nobody knows, beside one of root": {"0 5 * * * root /bin/a\n1 5 * * * ann /bin/b\n2 5 * * * find /tmp -delete\n3 5 * * * /bin/c\n", []int{2}, false},
		"a name nobody knows, by itself":          {"0 5 * * * ann /bin/b\n", nil, false},
		"beside a line that names no user":        {"0 5 * * * /bin/a\n1 5 * * * git /bin/b\n2 5 * * * deploy x\n", nil, false},
		"beside a user with a group":              {"0 5 * * * root:wheel /bin/a\n1 5 * * * git /bin/b\n", []int{2}, false},
		"somebody has said it":                    {"0 5 * * * git /bin/b\n1 5 * * * node /srv/app.js\n2 5 * * * deploy x\n", nil, true},
		"words of the shell":                      {"0 5 * * * cd /srv\n1 5 * * * time /bin/x\n2 5 * * * test /a\n", nil, false},
	} {
		r := crontab.Read([]byte(c.text), crontab.Options{IsUser: known, UsersTable: c.told})
		var refused []int
		for _, f := range r.Faults {
			if strings.Contains(f.Text, "--system=false") {
				refused = append(refused, f.Line)
				if !strings.Contains(f.Text, "--system ") || !strings.Contains(f.Text, "word 6") {
					t.Errorf("%s: %s", name, f.Text)
				}
			}
		}
		if !slices.Equal(refused, c.refused) {
			t.Errorf("%s: lines %v are asked about, want %v: %v", name, refused, c.refused, r.Faults)
		}
	}
}

func TestLinesThatAreEditedStayTheSameJobs(t *testing.T) {
	const text = "MAILTO=x\n0 1 * * * /bin/a one\n0 2 * * * b\n0 3 * * * /bin/a two\n0 4 * * * b\n0 4 * * * b\n"
	before := crontab.Read([]byte(text), crontab.Options{Source: "t", Prefix: "p/"})
	ids := func(r crontab.Result) (list []string) {
		for _, job := range r.Jobs {
			list = append(list, job.ID)
		}
		return list
	}
	if got := strings.Join(ids(before), " "); got != "p/t/a p/t/b p/t/a-2 p/t/b-2 p/t/b-3" {
		t.Fatalf("the ids are %s", got)
	}
	for _, c := range []struct{ name, old, edited string }{
		{"the times", "0 2 * * * b", "5 2 * * * b"},
		{"the arguments", "/bin/a two", "/usr/bin/a three 3"},
		{"a comment", "0 3 *", "# why\n0 3 *"},
		{"a line that becomes wrong", "0 2 * * * b", "99 2 * * * b"},
		{"a line that is switched off", "0 2 * * * b", "#0 2 * * * b"},
		{"blank lines and blanks", "0 3 * * *", " \n0\t3 * *   *"},
	} {
		after := crontab.Read([]byte(strings.Replace(text, c.old, c.edited, 1)), crontab.Options{Source: "t", Prefix: "p/"})
		was := map[string]string{}
		for _, job := range before.Jobs {
			was[job.ID] = string(encode(t, job))
		}
		changed := 0
		for _, job := range after.Jobs {
			if was[job.ID] == "" {
				t.Errorf("%s: %s is new", c.name, job.ID)
			} else if was[job.ID] != string(encode(t, job)) {
				changed++
			}
		}
		if changed > 1 || len(after.Jobs)+len(after.Faults)+strings.Count(c.edited, "#0") != len(before.Jobs) {
			t.Errorf("%s: %d jobs changed, %d are left", c.name, changed, len(after.Jobs))
		}
	}
}

func TestPoliciesOfCron(t *testing.T) {
	for _, c := range []struct {
		o    crontab.Options
		text string
		want string
	}{
		{crontab.Options{}, "@daily x", "map[coalesce:true misfire_grace:1m overlap:allow]"},
		{crontab.Options{CatchUp: true}, "@daily x", "map[coalesce:true overlap:allow]"},
		{crontab.Options{Overlap: "skip"}, "@daily x", "map[coalesce:true misfire_grace:1m overlap:skip]"},
		{crontab.Options{}, "RANDOM_DELAY=45\n@daily x", "map[coalesce:true jitter:45m misfire_grace:1m overlap:allow]"},
		{crontab.Options{}, "@reboot x", "map[coalesce:true misfire_grace:1m overlap:allow run_on_start:true]"},
	} {
		if got := fmt.Sprint(one(t, c.text, c.o).Policy); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// RC13: the numbers of APScheduler's weekdays count from Monday, and both day fields must match.
func TestTablesOfAPScheduler(t *testing.T) {
	r := crontab.Read([]byte("0 3 * * 0 a\n*/2 * * * * b\n0 3 1-7 * 4-6 c\n0 3 * * sun d\n@daily e\n0 3 * * 7 f\n"), crontab.Options{Dialect: "ruqi"})
	var got []string
	for _, job := range r.Jobs {
		when := shapeOf(t, job).Trigger
		got = append(got, when.Expr+" "+when.Dialect)
	}
	if want := "0 0 3 * * mon ruqi|0 */2 * * * * ruqi|0 0 3 1-7 * fri-sun ruqi|0 0 3 * * sun ruqi|@daily crontab"; strings.Join(got, "|") != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if len(r.Notes) != 2 || r.Notes[0].Line != 1 || !strings.Contains(r.Notes[0].Text, "0 = Monday") || r.Notes[1].Line != 3 {
		t.Errorf("the notes are %v", r.Notes)
	}
	if len(r.Faults) != 1 || r.Faults[0].Line != 6 {
		t.Errorf("the faults are %v", r.Faults)
	}
}

func TestCommentsAboveALine(t *testing.T) {
	for _, c := range []struct{ above, description, name string }{
		{"# why it runs", "why it runs", "why it runs"},
		{"### why\tit runs ", "why it runs", "why it runs"},
		{"# first\n# second", "first\nsecond", "true x"},
		{"# first\r\n# second\r", "first\nsecond", "true x"},
		{"  # first\n\t#second", "first\nsecond", "true x"},
		{"#\n# ======\n# first\n#\n# ------\n# second\n#", "first\n\nsecond", "true x"},
		{"# first\n#", "first", "first"},
		{"# other\n\n# first\n# second", "first\nsecond", "true x"},
		{"# other\nX=1\n# first\n# second", "first\nsecond", "true x"},
		{"# first\n#0 5 * * * /usr/bin/x", "first", "first"},
		{"#0 5 * * * /usr/bin/x\n# first\n# second", "first\nsecond", "true x"},
		{"# other\n#0 5 * * * /usr/bin/x\n# first\n# second", "first\nsecond", "true x"},
		{"# other\n#0 5 * * * /usr/bin/x\n# ---\n#0 6 * * * /usr/bin/x\n# first", "first", "first"},
		{"# first\n# second\n#@daily y\n# ---\n#@daily z", "first\nsecond", "true x"},
		{"# Edit this file\n#\n# m h  dom mon dow   command\n# first", "first", "first"},
		{"# Example:\n# .---- minute (0 - 59)\n# |  .---- hour\n# |  |  |  |  |\n# *  *  *  *  * user command", "", "true x"},
		{"# ┌── minute\n# │ ┌── hour\n# │ │ │ │ │\n# first", "first", "first"},
		{"# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (/tmp/c installed on Tue Dec  1 03:00:00 2026)\n# (Cron version -- $Id$)\n# first\n# second", "first\nsecond", "true x"},
		{"# " + strings.Repeat("word ", 900) + "\n# second", strings.TrimSpace(strings.Repeat("word ", 820)[:4096]), "true x"},
		{"# first\n# " + strings.Repeat("ü", 5000), "first\n" + strings.Repeat("ü", 4090), "true x"},
		{"# first\n\n", "", "true x"},
		{"# first\nX=1", "", "true x"},
		{"#", "", "true x"},
		{"# ----------", "", "true x"},
		{"# m h  dom mon dow   command", "", "true x"},
		{"# min hour day month weekday", "", "true x"},
		{"#0 5 * * 1 tar czf x y", "", "true x"},
		{"# a \x1b[31mred\x07 word \u202e \xff", "a [31mred word", "a [31mred word"},
		{"# " + strings.Repeat("long ", 20), strings.TrimSpace(strings.Repeat("long ", 20)), "true x"},
	} {
		s := one(t, c.above+"\n@daily true x\n", crontab.Options{})
		if s.Description != c.description || s.Name != c.name {
			t.Errorf("%q: description %q, name %q", c.above, s.Description, s.Name)
		}
	}
	two := crontab.Read([]byte("# first\n@daily x\n# second\n# third\n@daily y\n@daily z\n"), crontab.Options{})
	for i, want := range []string{"first", "second\nthird", ""} {
		if s := shapeOf(t, two.Jobs[i]); s.Description != want {
			t.Errorf("%s: description %q, want %q", s.ID, s.Description, want)
		}
	}
	long := one(t, "@daily echo "+strings.Repeat("word ", 60), crontab.Options{})
	if len([]rune(long.Name)) > 64 || !strings.HasSuffix(long.Name, "…") {
		t.Errorf("the name is %q", long.Name)
	}
}

func TestProgramsOfCommands(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/env A=1 B=2 probe --quiet":        "probe",
		"cd /srv && FOO=bar ./run.sh":               "run.sh",
		"cd /srv":                                   "cd",
		"sudo -u www-data php /srv/occ":             "php",
		"flock -n /run/x.lock timeout 60 rsync a b": "rsync",
		"bash -c \"sleep 5; '/opt/x/y z'\"":         "y",
		"if [ $(date +%u) -eq 1 ]; then weekly; fi": "weekly",
		"sleep \"$(( RANDOM % 60 ))\"; demo check":  "demo",
		"\"$(rm -rf /)\"":                           "job",
		"../../etc/passwd":                          "passwd",
		"...":                                       "job",
		"ünïcode":                                   "n-code",
		"a/" + strings.Repeat("x", 300):             strings.Repeat("x", 40),
		";;;":                                       "job",
		"`id`":                                      "id",
	} {
		s := one(t, "@daily "+strings.ReplaceAll(command, "%", `\%`), crontab.Options{Source: "s"})
		if s.ID != "s/"+want || s.Task.Command != command {
			t.Errorf("%s: %s, want %s", command, s.ID, want)
		}
	}
}

// An interpreter before a file of its language is a program, where the host has no user by its name.
func TestAnInterpreterBeforeItsFileIsNoUser(t *testing.T) {
	for line, asked := range map[string]bool{
		"php /var/www/cron.php": false, "php ~/artisan.php schedule": false, "node /srv/app.js": false, "node /srv/app.mjs": false, "ruby ~/x.rb": false,
		"php /srv/collect": true, "node /srv/cron.php": true, "node /usr/bin/nodejs /srv/x.js": true, "git /opt/collect.rb": true,
	} {
		r := crontab.Read([]byte("0 5 * * * "+line+"\n"), crontab.Options{})
		if (len(r.Faults) > 0) != asked {
			t.Errorf("%s: %v, want asked %v", line, r.Faults, asked)
		}
	}
}
