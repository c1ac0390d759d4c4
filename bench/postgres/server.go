package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// settings are run-time parameters of the server, by name.
type settings map[string]string

func (s *settings) String() string { return fmt.Sprint(map[string]string(*s)) }

func (s *settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("it is not NAME=VALUE")
	}
	if *s == nil {
		*s = settings{}
	}
	(*s)[name] = value
	return nil
}

// A server is a private PostgreSQL whose commits wait for the disk.
type server struct {
	url   url.URL
	about string
	// postmaster is the process whose children are all others of the server.
	postmaster int
	conn       *pgx.Conn
	t          *outside
	// crowded says that the database of the crowd is there.
	crowded bool
}

// startServer starts a server with the settings of the benches: durable, half a gigabyte of buffers, else as it is delivered.
func startServer(ctx context.Context, p *plan) (s *server, err error) {
	s = &server{t: &outside{}}
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("%v", failed)
		}
		if err != nil {
			s.stop()
		}
	}()
	all := map[string]string{
		"shared_buffers": "512MB", "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none",
	}
	if p.statements > 0 {
		all["pg_stat_statements.track"] = "top"
	}
	maps.Copy(all, p.server)
	started := postgrestest.New(s.t, postgrestest.Options{Fsync: true, Settings: all})
	address, err := url.Parse(started.URL())
	if err != nil {
		return s, err
	}
	s.url = *address
	if s.conn, err = pgx.Connect(ctx, s.url.String()); err != nil {
		return s, err
	}
	var lock, version, fsync, commit string
	err = s.conn.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid'), current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')`).
		Scan(&lock, &version, &fsync, &commit)
	if err != nil {
		return s, err
	}
	first, _, _ := strings.Cut(lock, "\n")
	if s.postmaster, err = strconv.Atoi(first); err != nil {
		return s, err
	}
	version, _, _ = strings.Cut(version, " ")
	s.about = fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s, shared_buffers 512MB, else its defaults", version, fsync, commit)
	_, err = s.conn.Exec(ctx, "CREATE EXTENSION pg_stat_statements")
	return s, err
}

// stop ends the server and removes it.
func (s *server) stop() {
	if s.conn != nil {
		_ = s.conn.Close(context.Background()) // the server goes
	}
	s.t.end()
}

// exec runs statements on the database named postgres.
func (s *server) exec(ctx context.Context, statements ...string) error {
	return execAll(ctx, s.conn, statements...)
}

func execAll(ctx context.Context, c *pgx.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := c.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// database is the address of a database.
func (s *server) database(name string) string {
	u := s.url
	u.Path = "/" + name
	return u.String()
}

// create makes a database, as a copy of another unless that is empty.
func (s *server) create(ctx context.Context, name, like string) error {
	if like == "" {
		like = "template1"
	}
	return s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+like)
}

// cpu is the time that all processes of the server have used: those that live by the nanosecond, those that
// have ended by the hundredth of a second.
func (s *server) cpu() (time.Duration, error) {
	ended, err := endedChildren(s.postmaster)
	if err != nil {
		return 0, err
	}
	total := ended + running(s.postmaster)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.postmaster, s.postmaster))
	if err != nil {
		return 0, err
	}
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		total += running(pid)
	}
	return total, nil
}

// reportStatements shows the n statements that took most of the server's time.
func (s *server) reportStatements(ctx context.Context, out io.Writer, n int) error {
	rows, err := s.conn.Query(ctx, `SELECT d.datname, s.calls, s.rows, s.total_exec_time, s.shared_blks_hit + s.shared_blks_read, s.query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
		ORDER BY s.total_exec_time DESC LIMIT $1`, n)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Fprintln(out, "\n| database | calls | rows | ms in all | ms a call | pages a call | statement |\n| --- | --- | --- | --- | --- | --- | --- |")
	for rows.Next() {
		var name, query string
		var calls, touched, pages int64
		var ms float64
		if err := rows.Scan(&name, &calls, &touched, &ms, &pages, &query); err != nil {
			return err
		}
		query = strings.Join(strings.Fields(query), " ")
		fmt.Fprintf(out, "| %s | %d | %d | %.0f | %.3f | %d | %s |\n", name, calls, touched, ms, ms/float64(calls), pages/calls, cell(query[:min(len(query), 200)]))
	}
	return rows.Err()
}

// statFields are what stands behind the name in /proc/PID/stat: state, parent, …; nothing for a process that is gone.
func statFields(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// tick is a unit of /proc/PID/stat and of /proc/stat: a hundredth of a second on every Linux.
const tick = 10 * time.Millisecond

// endedChildren is the time of the children of a process that it has waited for.
func endedChildren(pid int) (time.Duration, error) {
	fields := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if len(fields) < 15 {
		return 0, fmt.Errorf("process %d is gone", pid)
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[13]+" "+fields[14], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}

// running is the time that the first thread of a process was on a CPU: PostgreSQL's processes have one. 0: it is gone.
func running(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0
	}
	var ns int64
	if _, err := fmt.Sscan(string(text), &ns); err != nil {
		return 0
	}
	return time.Duration(ns)
}

// An outside stands for the test that postgrestest asks for, where there is none.
type outside struct {
	testing.TB
	cleanups []func()
}

func (o *outside) Helper()                           {}
func (o *outside) Attr(string, string)               {}
func (o *outside) Failed() bool                      { return false }
func (o *outside) Logf(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }
func (o *outside) Errorf(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
}
func (o *outside) Fatalf(format string, values ...any) { panic(fmt.Sprintf(format, values...)) }
func (o *outside) Cleanup(f func())                    { o.cleanups = append(o.cleanups, f) }

func (o *outside) end() {
	for len(o.cleanups) > 0 {
		last := o.cleanups[len(o.cleanups)-1]
		o.cleanups = o.cleanups[:len(o.cleanups)-1]
		last()
	}
}
