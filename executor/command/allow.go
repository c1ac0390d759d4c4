package command

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
)

// Vet returns why the task may not be run by this executor on this machine: its user, what the options allow, that the
// system can do what it asks for, that its dir is a whole path, its shell no program with arguments and none of its variables one that
// each run has of its own, and that a login has a home to start in.
func (e *Executor) Vet(task ruqi.Task) error {
	t, ok := task.(*Task)
	if !ok {
		return ruqi.Invalid("/kind", task.Kind(), "no command")
	}
	if t.err != nil {
		return t.err
	}
	who, err := t.account()
	var faults ruqi.Faults
	faults.Merge("", err)
	if t.dir != "" && !filepath.IsAbs(t.dir) && !strings.HasPrefix(t.dir, "/") {
		faults.Add("/dir", t.dir, "a relative path; write the whole path, from the root of the host on which the service runs")
	}
	if strings.ContainsAny(t.shell, " \t") {
		if _, err := os.Stat(t.shell); err != nil {
			faults.Add("/shell", t.shell, "%q is no program here; a shell stands without arguments, and a set -e or the like in the command", t.shell)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.env)) {
		if reserved(name) {
			faults.Add(object.Pointer("env", name), "", "is set by the service itself")
		}
	}
	if err == nil {
		faults.Merge("", e.allowed(t, who))
		faults.Merge("", t.homeless(who))
	}
	if err == nil && e.programs != nil {
		environ, err := e.environFor(t, who, nil, "")
		if err == nil {
			err = e.allowedProgram(t, environ)
		}
		faults.Merge("", err)
	}
	return faults.Err()
}

// homeless refuses a login that would start in a home that is not there, as those of many accounts of services are not.
func (t *Task) homeless(who *account) error {
	if !t.login || t.dir != "" || who == nil {
		return nil
	}
	info, err := os.Stat(who.home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ruqi.Invalid("/login", "", "the home directory %s of %q, in which a login starts, does not exist here; give the task a dir, such as /", who.home, who.name)
	case err == nil && !info.IsDir():
		return ruqi.Invalid("/login", "", "%s, the home of %q, in which a login starts, is no directory; give the task a dir, such as /", who.home, who.name)
	}
	return nil
}

// allowed judges all but the program.
func (e *Executor) allowed(t *Task, who *account) error {
	if e.disabled {
		return ruqi.Invalid("/kind", kind, "this service runs no commands")
	}
	var faults ruqi.Faults
	if e.users != nil {
		name := t.user
		if name == "" {
			name = e.owner
		}
		switch {
		case slices.Contains(e.users, name):
		case t.user == "":
			faults.Add("/user", "", "missing, and commands may not run as %q, the user of the service; %s", name, accepted(e.users))
		default:
			faults.Add("/user", name, "commands may not run as %q here; %s", name, accepted(e.users))
		}
	}
	if e.programs != nil {
		for _, name := range slices.Sorted(maps.Keys(t.env)) {
			if loads(name) {
				faults.Add("/env/"+name, "", "may not be set here, since it changes what a program loads or runs")
			}
		}
	}
	return faults.Err()
}

// allowedProgram judges the program that is found in an environment. Its faults do not repeat arguments.
func (e *Executor) allowedProgram(t *Task, environ []string) error {
	pointer := "/argv/0"
	if t.argv == nil {
		pointer = "/shell"
	}
	path, _, err := t.program(environ)
	switch {
	case err != nil:
		return ruqi.Invalid(pointer, "", "%v", err)
	case slices.Contains(e.programs, path) && filepath.IsAbs(path):
		return nil
	case t.argv == nil:
		return ruqi.Invalid(pointer, path, "a text is run by a shell, and %s is not among the programs that may be started here; give argv, or name a shell that is", t.what())
	}
	return ruqi.Invalid(pointer, path, "not among the programs that may be started here; it is named by its whole path, or found in PATH")
}

// loaders are the variables by which interpreters, a virtual machine or a library that many programs share take code, or the place of
// code, before a program's first line: those of Python, Perl, Ruby, Node.js, Java, .NET, PHP, Tcl, R, make, zsh, glibc and OpenSSL; and those by which
// tar, rsync, ssh, less and what asks for an editor start another program. Below HOME, too, Python and zsh find such code.
var loaders = []string{
	"HOME",
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHONPYCACHEPREFIX", "PYTHONBREAKPOINT", "PYTHONWARNINGS",
	"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "NODE_OPTIONS", "NODE_PATH",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "PHPRC", "PHP_INI_SCAN_DIR", "TCLLIBPATH",
	"R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "R_LIBS", "R_LIBS_USER", "MAKEFILES", "MAKEFLAGS", "GNUMAKEFLAGS", "ZDOTDIR", "GCONV_PATH",
	"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
	"TAR_OPTIONS", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "SSH_ASKPASS", "LESSOPEN", "LESSCLOSE", "PAGER", "EDITOR", "VISUAL", "FPATH",
}

// loads reports whether a variable changes what the loader of programs, an interpreter, or a shell before its first command, runs.
func loads(name string) bool {
	switch name {
	case "ENV", "SHELLOPTS", "PS4", "IFS", "PROMPT_COMMAND":
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "BASH", "LUA_", "CORECLR_", "GIT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(loaders, name)
}

// accepted lists what may be given.
func accepted(names []string) string {
	switch n := len(names) - 1; {
	case n < 0:
		return "none is accepted"
	case n == 0:
		return "accepted is " + names[0]
	default:
		return "accepted are " + strings.Join(names[:n], ", ") + " and " + names[n]
	}
}
