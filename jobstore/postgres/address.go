package postgres

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ruqi-dev/ruqi"
)

// An address is where the database is and how to speak to it.
type address struct {
	config *pgxpool.Config
	// listen says that a session of the server lasts as long as its connection.
	listen bool
	// settings is the statement that makes, for the transaction it is in, what a session keeps where it lasts; empty where it does.
	settings string
}

const (
	// engineConns are enough for each loop of a scheduler to have one: claim, finish, output, heartbeat, rescue.
	engineConns = 5
	// frontConns serve readers and editors: as many as two cores can use, and few for a server of 100 connections.
	frontConns = 4
	// connectWait is how long one try to connect may take; much less than a lease.
	connectWait = 5 * time.Second
	// idleConn is how long a connection stays without use.
	idleConn = 5 * time.Minute
)

// listenParameter is Ruqi's own parameter in a URL.
const listenParameter = "ruqi_listen"

// notAddress is for whatever is wrong with an address but its parameters, since to name what is might tell a part of the password.
const notAddress = "is no address of a PostgreSQL database; one looks like postgres://USER:PASSWORD@HOST:5432/DATABASE, and in a password % is written as %25, @ as %40, / as %2F, ? as %3F and # as %23"

func parseAddress(url string) (address, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		if faults := wrongParameters(url); faults != nil {
			return address{}, faults
		}
		// The text of the error may hold a part of the URL, a password among it.
		return address{}, ruqi.Invalid("/store", "", "%s", notAddress)
	}
	a := address{config: config, listen: true}
	params := config.ConnConfig.RuntimeParams
	if strays(url) || !namesOnly(params) {
		return address{}, ruqi.Invalid("/store", "", "%s", notAddress)
	}
	if value, given := params[listenParameter]; given {
		delete(params, listenParameter)
		switch value {
		case "on":
		case "off":
			a.listen = false
		default:
			return address{}, ruqi.Invalid("/store", "", "%s is %q; on and off are accepted", listenParameter, value)
		}
	}
	if params["application_name"] == "" {
		params["application_name"] = "ruqi"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWait
	}
	config.MaxConnIdleTime = idleConn
	settings := maps.Clone(transactionSettings)
	if a.listen {
		maps.Copy(settings, connectionSettings)
	}
	maps.DeleteFunc(settings, func(name, _ string) bool {
		_, given := params[name]
		return given
	})
	if a.listen {
		maps.Copy(params, settings)
	} else {
		// Each statement comes with its own text: nothing is kept in a session.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		a.settings = settingsForOne(settings)
	}
	return a, nil
}

// strays reports whether a part of the password may have been taken for host or database, which are shown: there is an @
// where none can be.
func strays(url string) bool {
	_, rest, isURL := strings.Cut(url, "://")
	if !isURL {
		return false
	}
	rest, _, _ = strings.Cut(rest, "?")
	server, path := rest, ""
	if end := strings.IndexAny(rest, "/#"); end >= 0 {
		server, path = rest[:end], rest[end:]
	}
	return strings.Count(server, "@") > 1 || strings.Contains(path, "@")
}

// parameterName matches what the server takes for the name of a parameter. It tells the names of others, which may be a
// part of a password.
var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// acceptedValues says what parameters take that are often given wrong.
var acceptedValues = map[string]string{
	"sslmode":         "accepted are disable, allow, prefer, require, verify-ca and verify-full",
	"connect_timeout": "accepted are whole seconds",
}

// wrongParameters names the parameters of a URL that keep it from being read: without one of them it can be, or with one
// alone it cannot. Their values are not told. Nil: something else is wrong, or it is not certain that they are parameters.
func wrongParameters(url string) error {
	base, query, _ := strings.Cut(url, "?")
	reads := func(parameters ...string) bool {
		_, err := pgxpool.ParseConfig(base + "?" + strings.Join(parameters, "&"))
		return err == nil
	}
	if strays(url) || strings.Contains(query, "@") || !strings.Contains(base, "://") || !reads() {
		return nil
	}
	all := strings.Split(query, "&")
	var faults, alone ruqi.Faults
	for i, parameter := range all {
		name, _, _ := strings.Cut(parameter, "=")
		if !parameterName.MatchString(name) {
			return nil
		}
		what := acceptedValues[name]
		if what == "" {
			what = "cannot be used; see its value, and the file if it names one"
		}
		if reads(slices.Delete(slices.Clone(all), i, i+1)...) {
			faults.Add("/store", "", "%s: %s", name, what)
		}
		if !reads(parameter) {
			alone.Add("/store", "", "%s: %s", name, what)
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return alone.Err()
}

func namesOnly(params map[string]string) bool {
	for name := range params {
		if !parameterName.MatchString(name) {
			return false
		}
	}
	return true
}

// transactionSettings hold for every transaction: a session that lasts has them from its start, and where none does, each
// transaction begins with them.
var transactionSettings = map[string]string{
	// What a host that vanished has locked is free after this.
	"idle_in_transaction_session_timeout": "5000", // ms; a step of a living instance goes on within milliseconds
	// No step waits longer for another, and no statement of a client that is gone goes on for ever.
	"lock_timeout":      "8000",  // ms
	"statement_timeout": "20000", // ms; twice what a client waits
	// Every statement of a step is known and has its index. Statistics of a table that grew since
	// the last ANALYZE, from nothing to a million rows perhaps, do not change that.
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	// To compile a look takes twenty times as long as to plan and run it, and so it is with workers of its own for a count.
	"jit":                             "off",
	"max_parallel_workers_per_gather": "0",
}

// connectionSettings hold for every connection that has a session of its own.
var connectionSettings = map[string]string{
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"TimeZone":                "UTC",
}

// settingsForOne is the statement that makes settings for the transaction it is in. It works in a batch without BEGIN
// too, which is one transaction, and where SET LOCAL would have no effect.
func settingsForOne(settings map[string]string) string {
	calls := make([]string, 0, len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', true)", name, settings[name]))
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// set makes the settings at the beginning of a batch's transaction, where its session has none. It costs no round trip.
func (a address) set(b *pgx.Batch) {
	if a.settings != "" {
		b.Queue(a.settings)
	}
}

// wantsTLS reports whether no connection goes without TLS.
func (a address) wantsTLS() bool {
	if a.config.ConnConfig.TLSConfig == nil {
		return false
	}
	for _, other := range a.config.ConnConfig.Fallbacks {
		if other.TLSConfig == nil {
			return false
		}
	}
	return true
}

// String is the address without user, password and parameters.
func (a address) String() string {
	c := a.config.ConnConfig
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		host = c.Host
	}
	return fmt.Sprintf("postgres://%s/%s", host, c.Database)
}

// poolConfig is the configuration of a pool of at most n connections.
func (a address) poolConfig(n int32) *pgxpool.Config {
	config := a.config.Copy()
	config.MaxConns = n
	config.MinConns = 0
	return config
}
