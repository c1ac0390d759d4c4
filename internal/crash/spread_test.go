//go:build linux

package crash_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

const (
	// crowd is how many services share one server.
	crowd = 10
	// crowdJobs fire once a second each.
	crowdJobs = 100
	// mostIdle is how many statements a second an idle service may send.
	mostIdle = 5
	// mostShare is how many times an even share of the runs a service may have, and one part in how many it must have.
	mostShare = 2
)

// statementLog lets the server write each statement into a file that can be read by SQL, with the
// name of the program that sent it.
var statementLog = map[string]string{
	"logging_collector": "on", "log_directory": "log", "log_filename": "statements.log", "log_rotation_age": "0", "log_rotation_size": "0",
	"log_statement": "all", "log_line_prefix": "<%a> ", "log_min_error_statement": "panic",
}

// TestCrashCrowd lets ten services share a PostgreSQL server. Idle they must leave it in peace, and under load
// each must take its share.
func TestCrashCrowd(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t, postgrestest.Options{Settings: statementLog})
	s := newSiteOn(t, server.Database(t))
	s.lease, s.tells = 15*time.Second, true // the default, by which heartbeats come each 3 s
	first, c := s.start()
	services := []*service{first}
	for range crowd - 1 {
		services = append(services, s.launch())
	}
	for _, v := range services[1:] {
		if _, err := v.ready(); err != nil {
			t.Fatal(err)
		}
	}
	idle(t, server, pick(5*time.Second, 15*time.Second))

	u := &users{site: s, gate: newGateway(), ledger: newLedger(), wait: 10 * time.Second}
	var all []order
	life := pick(15*time.Second, 60*time.Second)
	for i := range crowdJobs {
		all = append(all, order{id: fmt.Sprintf("%s-%03d", steady, i), group: steady, every: time.Second, limit: 1000, catchup: 1000, silent: true, life: life})
	}
	addAll(t, u, c, all)
	wait := time.NewTimer(life)
	defer wait.Stop()
	<-wait.C
	settle(t, u.ledger, c)
	for _, v := range services {
		v.term()
	}
	h := verdictOf(t, s, u)
	// On a busy machine a run may take longer than its interval, which the limit of its job lets it.
	if n := h.states(); n[ruqi.RunSucceeded] != len(h.runs) {
		t.Errorf("nothing happened to the services, and yet their runs ended so: %v", n)
	}
	show(t, judgeShares(h.runs, crowd))
	shares := map[string]int{}
	for i := range h.runs {
		shares[h.runs[i].Owner.Instance]++
	}
	t.Logf("runs of each service: %v", shares)
}

// judgeShares checks that the load was spread over so many instances.
func judgeShares(rows []ruqi.Run, instances int) []string {
	j := &judge{}
	shares := map[string]int{}
	for i := range rows {
		if rows[i].Started != nil {
			shares[rows[i].Owner.Instance]++
		}
	}
	even := 0
	for _, n := range shares {
		even += n
	}
	even /= instances
	if len(shares) != instances {
		j.fault("of %d instances %d ran something", instances, len(shares))
	}
	for name, n := range shares {
		if n > even*mostShare || n < even/mostShare {
			j.fault("instance %s had %d runs; an even share is %d", name, n, even)
		}
	}
	return j.faults
}

func TestCrashSharesAreJudged(t *testing.T) {
	var rows []ruqi.Run
	for n := range 30 {
		r := plantRun(int64(n), float64(n))
		r.Owner.Instance = fmt.Sprint(n % 3)
		rows = append(rows, r)
	}
	one(t, "", judgeShares(rows, 3))
	for n := range rows {
		if n%3 == 0 && n > 11 {
			rows[n].Owner.Instance = "1"
		}
	}
	one(t, "instance 0 had 4 runs", judgeShares(rows, 3))
	one(t, "of 4 instances 3 ran something", judgeShares(rows, 4))
}

// idle counts the statements that services send which have nothing to do.
func idle(t *testing.T, server *postgrestest.Server, length time.Duration) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	before, sessions := statements(t, c)
	wait := time.NewTimer(length)
	defer wait.Stop()
	<-wait.C
	after, _ := statements(t, c)
	rate := float64(after-before) / length.Seconds() / crowd
	t.Logf("an idle service has %.1f sessions and sends %.2f statements a second", float64(sessions)/crowd, rate)
	if rate >= mostIdle {
		t.Errorf("an idle service sends %.2f statements a second, want less than %d", rate, mostIdle)
	}
	if after == before {
		t.Error("no statement was seen: the count is wrong")
	}
}

// logged matches the begin of a statement of a service in the server's log.
const logged = `^<ruqi> LOG:  (statement|execute)`

// statements counts what the services have sent to the server so far, and their sessions.
func statements(t *testing.T, c *pgx.Conn) (sent int64, sessions int) {
	t.Helper()
	const query = `SELECT (SELECT count(*) FROM regexp_matches(pg_read_file('log/statements.log'), $1, 'gn')),
		(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ruqi')`
	if err := c.QueryRow(t.Context(), query, logged).Scan(&sent, &sessions); err != nil {
		t.Fatal(err)
	}
	return sent, sessions
}
