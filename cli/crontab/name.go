package crontab

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mostProgram = 40 // characters of a program's name in an id
	mostName    = 64 // characters of a comment or a command that serves as a name; longer comments are sentences
)

// carriers start the program that a line is about; quiet ones prepare for it. Neither says what the line does.
var (
	carriers = []string{
		"!", "bash", "chronic", "chrt", "command", "cronic", "dash", "do", "elif", "else", "env", "eval", "exec", "flock", "if", "ionice", "ksh", "nice",
		"nohup", "setsid", "sh", "stdbuf", "sudo", "systemd-cat", "then", "time", "timeout", "until", "while", "zsh",
	}
	quiet = []string{".", ":", "[", "[[", "cd", "done", "export", "false", "fi", "for", "set", "sleep", "source", "test", "true", "ulimit", "umask"}
)

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	counted    = regexp.MustCompile(`^[0-9]+[smhd]?$`)
	inserted   = regexp.MustCompile(`\$\([^)]*\)+`) // what another program says in its place
	unfit      = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// programOf guesses what a command is about, for its id: the name of the first program that does more than lead to another. The
// arguments do not count, so that a line whose arguments are edited stays the same job. The command is looked at, never run.
func programOf(command string) string {
	command = inserted.ReplaceAllString(clip(command, 4096), "")
	second := "" // the first of the quiet ones, for want of something better
	for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(";&|(){}", r) }) {
		name := leader(strings.Fields(part))
		if name == "" {
			continue
		}
		if !slices.Contains(quiet, name) {
			if name = idPart(name); name != "" {
				return name
			}
			continue
		}
		if second == "" {
			second = idPart(name)
		}
	}
	if second == "" {
		return "job"
	}
	return second
}

// leader returns the name of the program that the words start.
func leader(words []string) string {
	carried := ""
	for i := 0; i < len(words); i++ {
		word := strings.Trim(words[i], `'"`+"`")
		switch {
		case assignment.MatchString(word), word == "":
		case carried != "" && (word == "-u" || word == "-g"):
			i++ // and its argument
		case carried != "" && (strings.HasPrefix(word, "-") || counted.MatchString(word)):
		case carried == "flock":
			carried = "the lock's file is behind us"
		default:
			name := path.Base(word)
			if !slices.Contains(carriers, name) {
				return name
			}
			carried = name
		}
	}
	return ""
}

// idPart makes a text fit for an id that is also good in a file name and on a command line.
func idPart(text string) string {
	return strings.Trim(clip(unfit.ReplaceAllString(text, "-"), mostProgram), "-.")
}

// IDPart makes the name of a file fit for Options.Source; empty where nothing of it is left.
func IDPart(name string) string { return idPart(name) }

// jobName returns the description if it is one short line, else the command, as much of it as a list has room for.
func jobName(description, command string) string {
	if description != "" && !strings.Contains(description, "\n") && utf8.RuneCountInString(description) <= mostName {
		return description
	}
	text := printable(command)
	if text == clip(text, mostName) {
		return text
	}
	return strings.TrimSpace(clip(text, mostName-1)) + "…"
}

// printable leaves out what is no text.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text))
}

// clip cuts a text to so many characters.
func clip(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}
