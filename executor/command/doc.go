// Package command runs programs. Its tasks are of kind "command": a text for a shell, a list of arguments, or a line that
// is split into arguments as a shell splits words, without a shell and without expanding anything; one of the three.
//
//	{"kind":"command","command":"make report","shell":"/bin/sh","env":{"TO":"ops"},"dir":"/srv","stdin":""}
//	{"kind":"command","argv":["/bin/x","a"]}
//	{"kind":"command","line":"/bin/x 'a b'"}
//
// # User, umask, nice, limits
//
//	{"kind":"command","command":"make","user":"build","umask":"022","nice":10,"login":true,
//	 "limits":{"cpu_time":"30s","memory_bytes":1073741824,"open_files":256,"processes":100}}
//
// With user, the process has that user's id, group and supplementary groups, from /etc/passwd and /etc/group or, in a program built with
// cgo, wherever the system has them. Only a service that runs as root can become another user; a service may always name its own. Whether there is such a
// user is looked at when a job is added and at each run.
//
// With Options.Cgroups, where the service may divide its group and that has controllers, memory_bytes and processes bound the run as a whole (memory.max
// without swap, pids.max). Else limits are those of setrlimit(2), so of each process and not of the run together: cpu_time is RLIMIT_CPU, memory_bytes RLIMIT_AS (the
// address space; programs that reserve much more than they use, such as those in Go or Java, need a generous one), open_files
// RLIMIT_NOFILE, processes RLIMIT_NPROC, which counts all processes and threads of the user and does not bind root. A limit above the
// service's own makes the run fail. macOS does not keep to all of them.
//
// A task with a umask, nice or limits starts as /bin/sh with a fixed text, which sets them and becomes the program with the same process
// id. What the task says is handed over as arguments and never part of that text. A file without an interpreter line is then
// run as a script, as a shell does it, and argv[0] is the path that was found. One more program is started, which takes about a millisecond; tasks
// without these members start as they are.
//
// None of this is there on Windows: such a task is refused.
//
// # What is allowed
//
// Options.Programs, Users and Disabled restrict what an executor runs. They are looked at when a job is added or its task changed, and again
// at each run. A program is judged by the path that is started, compared as it is written: a name is looked up in PATH first; a
// relative path, a detour (/bin/../bin/x) and a link that is not listed itself are other paths.
//
// # Environment
//
// A command is given, later ones replacing earlier ones of the same name:
//
//   - the environment of the service, without its own settings and secrets (every
//     name that begins with RUQI_), as it was when New was called;
//   - HOME, USER, LOGNAME, SHELL and PATH, where the service has none (from the
//     user's passwd entry; PATH is DefaultPath); PWD when the task has a dir;
//   - the task's env;
//   - RUQI_PARAM_NAME for each member of the run's params. The name is in upper case,
//     and what is no ASCII letter or digit is an underscore, so that "due-date" becomes
//     RUQI_PARAM_DUE_DATE. A string is given as it stands, any other value as compact
//     JSON. Of two members that become one name the later in byte order is given;
//   - RUQI_JOB_ID, RUQI_RUN_ID, RUQI_ATTEMPT, and RUQI_NOMINAL_TIME (RFC 3339, UTC,
//     microseconds where there are any);
//   - RUQI_PROCESS_TREE, by which the processes of one run are found again, also by another
//     instance once the run is lost. It is made of the run's row: the instance and its epoch, the run's id and the time of
//     its start. Its form means nothing to a command.
//
// With user, HOME, USER, LOGNAME and SHELL are of that user's entry, and not of the service; all else of the service's environment is handed on.
//
// With login, of the service's environment only LANG, LANGUAGE, LC_… and TZ are handed on; HOME, USER, LOGNAME and SHELL are of the entry of
// the task's user, PATH is DefaultPath, and the task starts in HOME where it has no dir: one whose HOME is not there is refused when the job is added, and fails where it has gone since. A text is given to its shell as a login
// shell (-l -c TEXT), which reads /etc/profile and ~/.profile or its own; bash, dash, ksh, zsh and busybox know -l, the sh of FreeBSD does not. The env of the task, the
// params and RUQI_… come on top as ever. PAM is not asked, and no session is opened.
//
// Params never change the arguments. A program without a slash is looked up in the
// PATH of this environment, in its absolute directories.
//
// # Input and output
//
// Standard input is the task's stdin, else empty. Standard output and standard error are
// one pipe, drained always, so that their order is kept.
//
// # What a program tells
//
// A line on either of them that begins with "::ruqi " tells of the program's own run, and is output like any other:
//
//	::ruqi progress 0.4 reading page 4 of 10
//	::ruqi result {"pages": 10}
//
// The first says how far the run is, as ruqi.Progress does; the text may be left out. The second gives it its result, as
// ruqi.SetResult does, on one line. The last of each counts. A line may end with CR LF, and the last line with
// nothing. One that is longer than a result of ruqi.MaxResult and 1 KiB, or says something else, changes nothing; the
// first such is a note of the run.
//
// # Usage
//
// CPU is of the program and of those descendants that were waited for. MaxRSS is the largest resident size of any one of
// them, not their sum; 0 is "not known". The system itself tells it only where it is above
// the peak of the service. Below that, on Linux, it is what was seen in /proc while the program ran, of it and of all processes of
// its session: looked at after 10 ms, then each time its age has doubled, from one second on each second. So a program
// of less than 10 ms has none, and a peak shortly before the end may have been higher. Elsewhere it is not known.
//
// # The end
//
// The exit of the program ends the run. What the program left behind and what holds the
// pipe is given 250 ms after its last byte, and 2 s in all, to write; then the pipe is
// closed. It is not ended, but the result's note counts it. A context that ends in that time comes too late: the result
// is that of the exit, and says so by ByItself.
//
// When the context ends before the program, the whole process group is sent SIGTERM (and SIGCONT, since a
// stopped process hears nothing), then SIGKILL once the grace is over, or at once when the execution's Hard is closed,
// whatever is left of the grace. On Linux, those
// descendants that left the group are sent the same: they are found in /proc by their
// session, their parents and RUQI_PROCESS_TREE, and of those that have nothing of it left:
//
//   - with Options.Cgroups, where Linux lets the service make them, by a control group of version 2 that each run has. It holds everything
//     that the program started, unless that has the right to move itself into another group, as root and the service's own user have;
//   - with Options.Subreaper, or as the first process of a container, by their having become children of the service. Nothing tells of what run
//     they are, so they are taken for a run's if no other program was there when they were born, but such as are ended too.
//
// Without either, one that changed its session, lost its parents and cleared its environment is not found. On other Unix systems the group is
// all that is ended, on Windows the program alone, and at once.
//
// On Linux the program is killed when the service dies, even by SIGKILL (Pdeathsig). That
// signal follows the thread that created the process, so Execute keeps its thread until the
// program has ended; it would have waited on it anyway. What the program itself started is not killed
// that way: EndLost finds it, on the same machine, once another instance has seen that the run is lost. It kills what
// carries the run's RUQI_PROCESS_TREE and RUQI_JOB_ID in its environment, what is in its control group, and the descendants of those; what has cleared
// its environment and lost its parents is not found without such a group, nor what runs as a user whose processes the service may not look at.
// The same ends a program whose service lives but lost its lease. Other systems have no such search: there EndLost ends nothing.
//
// Where orphans become children of the service (it is the first process of a container, or Options.Subreaper is set), they are reaped
// when they have ended, at the latest a minute later; children of the program's other packages are not touched unless they have a session of their own.
//
// A process that the kernel cannot end (it waits for a dead disk) holds its run.
package command
