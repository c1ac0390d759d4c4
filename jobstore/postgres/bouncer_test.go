package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ruqi-dev/ruqi/internal/said"
)

const (
	// bouncerSessions are those that PgBouncer has with the server, far fewer than its clients have with it.
	bouncerSessions = 8
	// bouncerTries bounds how many ports are tried that were free a moment before.
	bouncerTries = 10
)

const bouncerMissing = "PgBouncer is missing: the store is tried behind a real one. Install it (Debian and Ubuntu: apt-get install pgbouncer); scripts/postgres does so for root"

// bouncerConfig gives each transaction the session that has been idle longest, so that hardly two of a client are on the same one.
const bouncerConfig = `[databases]
%s = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = %s
pool_mode = transaction
server_round_robin = 1
default_pool_size = %d
max_client_conn = 1000
[users]
postgres = pool_mode=transaction
`

// A bouncer is a PgBouncer that a test has for itself.
type bouncer struct {
	t     *testing.T
	knows string // the database that it knows; *: each of the server
	host  string // its address
	cmd   *exec.Cmd
	log   *said.Text
	in    io.WriteCloser // of the guard: a shell that ends it when the test's process dies
}

// newBouncer starts a PgBouncer in front of a server.
func newBouncer(t *testing.T, server string) *bouncer {
	t.Helper()
	return newBouncerOf(t, server, "*")
}

// newBouncerOf starts one that knows a single database.
func newBouncerOf(t *testing.T, server, database string) *bouncer {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // where Debian has it, which is not in everybody's PATH
		if _, err := os.Stat(program); err != nil {
			t.Fatal(bouncerMissing)
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	for range bouncerTries {
		b := &bouncer{t: t, knows: database, host: freePort(t), log: &said.Text{}}
		if err = b.start(program, u); err == nil {
			return b
		}
	}
	t.Fatalf("start pgbouncer: %v", err)
	return nil
}

// start starts it on its port and waits until it takes connections.
func (b *bouncer) start(program string, server *url.URL) error {
	config := filepath.Join(b.t.TempDir(), "pgbouncer.ini")
	_, port, err := net.SplitHostPort(b.host)
	if err != nil {
		return err
	}
	auth := "any"
	if b.knows != "*" { // where it may not know a database, it must know the user
		auth = "trust"
	}
	text := fmt.Sprintf(bouncerConfig, b.knows, server.Hostname(), server.Port(), port, auth, bouncerSessions)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	args := []string{config}
	if os.Geteuid() == 0 { // which it refuses to be
		account, err := unprivileged()
		if err != nil {
			return err
		}
		args = []string{"-u", account, config}
	}
	b.cmd = exec.Command(program, args...)
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = "/", b.log, b.log
	if err := b.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- b.cmd.Wait() }()
	defer b.t.Cleanup(func() { b.end(ended) })
	guard := exec.Command("/bin/sh", "-c", `read -r said || kill "$1"`, "sh", strconv.Itoa(b.cmd.Process.Pid))
	if b.in, err = guard.StdinPipe(); err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	b.t.Cleanup(func() { _ = guard.Wait() }) // after end, which tells it that all is done
	return b.await(server.Path, ended)
}

// await tries to connect through it until that works or it has ended.
func (b *bouncer) await(database string, ended chan error) error {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, "postgres://postgres@"+b.host+database+"?sslmode=disable")
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case how := <-ended:
			ended <- how
			return fmt.Errorf("it ended while it started: %w\n%s", errors.Join(how, err), b.log)
		case <-ctx.Done():
			return fmt.Errorf("it takes no connection: %w\n%s", err, b.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end ends it and waits for it.
func (b *bouncer) end(ended chan error) {
	if b.t.Failed() {
		text := b.log.String()
		b.t.Logf("the log of pgbouncer ends with\n%s", text[max(len(text)-8<<10, 0):])
	}
	if b.in != nil {
		if _, err := io.WriteString(b.in, "done\n"); err != nil {
			b.t.Logf("tell the guard of pgbouncer: %v", err)
		}
	}
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-ended:
	case <-time.After(patience):
		b.t.Errorf("pgbouncer does not end; it is killed")
		_ = b.cmd.Process.Kill()
		<-ended
	}
}

// unprivileged is who may run a server: the user postgres, or nobody.
func unprivileged() (string, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if _, err := user.Lookup(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("there is neither a user postgres nor nobody")
}

// through is the address of a database by way of the bouncer, with nothing that it would refuse.
func (b *bouncer) through(address string) string {
	return with(b.t, address, func(u *url.URL) {
		u.Host = b.host
		u.RawQuery = "sslmode=disable&ruqi_listen=off"
	})
}

// sessions counts its sessions with the server, and its clients' with it.
func (b *bouncer) sessions() (server, clients int) {
	b.t.Helper()
	// Its console knows one kind of query, and tells of its pools in columns of its own.
	c := connectTo(b.t, "postgres://postgres@"+b.host+"/pgbouncer?sslmode=disable&default_query_exec_mode=simple_protocol")
	for query, n := range map[string]*int{"SHOW SERVERS": &server, "SHOW CLIENTS": &clients} {
		rows, err := c.Query(b.t.Context(), query)
		if err != nil {
			b.t.Fatalf("%s: %v", query, err)
		}
		for rows.Next() {
			*n++
		}
		if err := rows.Err(); err != nil {
			b.t.Fatalf("%s: %v", query, err)
		}
	}
	return server, clients
}
