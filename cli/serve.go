package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/command"
	"github.com/ruqi-dev/ruqi/executor/webhook"
	"github.com/ruqi-dev/ruqi/httpapi"
	"github.com/ruqi-dev/ruqi/httpapi/legacy"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

const (
	defaultListen = "127.0.0.1:8585"
	// closeWait is how long requests under way may take once the runs have ended.
	closeWait = 5 * time.Second
	// statusWait is how long the last look at the runs may take: whoever asked for an end at once does not wait.
	statusWait = 500 * time.Millisecond
)

// serveFlags are the settings of the service as they were typed, by flag or in the environment.
type serveFlags struct {
	store, listen, zone, lease, drain, logLevel string
	slots, allowNet                             []string
	allowPrograms, allowUsers                   []string
	insecureHTTP, newToken, webhookProxy        bool
	noCommands                                  bool
	cgroup                                      string
	legacy                                      legacyFlags
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Runs jobs and serves the API. At its first start on a store it makes an admin token and says in which file it is;\n" +
			"--new-token makes another one when that is lost.\n\n" +
			"Each flag can be given in the environment instead: RUQI_STORE, RUQI_LISTEN, RUQI_TZ, RUQI_SLOTS (POOL=N,…), RUQI_LEASE, RUQI_DRAIN,\n" +
			"RUQI_INSECURE_HTTP, RUQI_LOG_LEVEL, RUQI_ALLOW_NET (NETWORK,…), RUQI_WEBHOOK_PROXY, RUQI_NO_COMMANDS,\n" +
			"RUQI_ALLOW_PROGRAMS (PATH,…), RUQI_ALLOW_USERS (USER,…), RUQI_CGROUP, RUQI_LEGACY_OPEN (NETWORK,…), RUQI_LEGACY_HOST,\n" +
			"RUQI_LEGACY_PROGRAMS, RUQI_LEGACY_GET, RUQI_DATA_DIR. Clients of the original service find its API at /ruqi; the flags that begin with legacy\n" +
			"are about them alone.\n\n" +
			"On SIGTERM, SIGINT or SIGHUP it claims nothing new, waits for what runs, then ends it;\n" +
			"a second signal ends it at once and by force, a third leaves without waiting.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := a.settings(f, cmd.Flags())
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), settings)
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.store, "store", "", "`store`, where jobs and runs are kept: memory:, sqlite:PATH or postgres://… (default: ruqi.db in the data directory)")
	set.StringVar(&f.listen, "listen", defaultListen, "`address` to serve on, HOST:PORT; port 0 takes a free one")
	set.StringVar(&f.zone, "tz", "", "`zone` of triggers that name none, an IANA name (default: the host's)")
	set.StringSliceVar(&f.slots, "slots", nil, "`POOL=N`: runs that a pool holds at once; may be given again")
	set.StringVar(&f.lease, "lease", "", "`time` for which the store takes this instance for alive without word (default 15s)")
	set.StringVar(&f.drain, "drain", "", "`time` for which running runs are waited for at the end; 0: not at all (default 30s)")
	set.BoolVar(&f.insecureHTTP, "insecure-http", false, "serve on an address that others can reach, without encryption")
	set.StringSliceVar(&f.allowNet, "allow-net", nil, "`network` that webhooks may reach though it is loopback or private: 10.1.0.0/16, 127.0.0.1; may be given again")
	set.BoolVar(&f.webhookProxy, "webhook-proxy", false, "send webhooks by way of the proxies that HTTP_PROXY and HTTPS_PROXY name; what may be reached is then for these to say")
	set.BoolVar(&f.noCommands, "no-commands", false, "run no commands: jobs that are commands are refused, and those in the store wait for another instance")
	set.StringSliceVar(&f.allowPrograms, "allow-programs", nil, "`path` of a program that commands may start, and then no others; a text for a shell needs its shell; may be given again")
	set.StringSliceVar(&f.allowUsers, "allow-users", nil, "`user` that commands may run as, and then as no others, that of the service included; may be given again")
	set.StringVar(&f.cgroup, "cgroup", "auto", "`when` each run of a command has a control group, by which all it started is found: auto (where Linux lets this service make one) or off")
	f.legacy.add(set)
	set.StringVar(&f.logLevel, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	set.BoolVar(&f.newToken, "new-token", false, "make a new admin token at this start and write it to the data directory; the one before is refused from then on, by other running services of the store within seconds")
	return cmd
}

// settings are the service's settings, checked.
type settings struct {
	dir, store, listen string
	scheduler          ruqi.Options
	level              slog.Level
	token              tokenWish
	webhooks           webhook.Options
	commands           command.Options
	legacy             legacy.Settings
	names              map[string]string // by flag, how the user gave it
}

// settings reads flags and environment and tells all faults at once.
func (a *app) settings(f *serveFlags, set *pflag.FlagSet) (settings, error) {
	names, faults := a.fromEnvironment(set, "store", "listen", "tz", "slots", "lease", "drain", "insecure-http", "log-level", "allow-net", "webhook-proxy",
		"no-commands", "allow-programs", "allow-users", "cgroup", "legacy-open", "legacy-host", "legacy-programs", "legacy-get")
	wrong := func(flag, format string, args ...any) {
		faults = append(faults, usage("%s: %s", names[flag], fmt.Sprintf(format, args...)))
	}
	s := settings{store: f.store, listen: f.listen, names: names, scheduler: ruqi.Options{Release: a.Version}}
	if host, port, err := net.SplitHostPort(f.listen); err != nil {
		wrong("listen", "%q is no HOST:PORT such as %s", f.listen, defaultListen)
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		wrong("listen", "the port %q is no number from 0 to 65535", port)
	} else if !isLoopback(host) && !f.insecureHTTP {
		wrong("listen", "others can reach %s, and what they send, the token included, would not be encrypted; put a proxy with TLS before %s, or say --insecure-http", f.listen, net.JoinHostPort("127.0.0.1", fmt.Sprint(n)))
	}
	if err := s.level.UnmarshalText([]byte(f.logLevel)); err != nil {
		wrong("log-level", "%q is unknown; %s", f.logLevel, wire.Instead(f.logLevel, "debug", "info", "warn", "error"))
	}
	if f.zone != "" {
		zone, err := zoneFlag(f.zone)
		s.scheduler.Zone = zone
		if err != nil {
			wrong("tz", "%v", err)
		}
	}
	length := func(flag, text string) time.Duration {
		if text == "" {
			return 0
		}
		d, err := duration.Parse(text)
		if err != nil {
			wrong(flag, "%v", err)
		}
		return d
	}
	s.scheduler.Lease = length("lease", f.lease)
	if d, err := duration.Parse(f.lease); err == nil && d == 0 { // the zero value is the default
		wrong("lease", "must be longer than nothing; leave it out for the default")
	}
	s.scheduler.Drain = length("drain", f.drain)
	if f.drain != "" && s.scheduler.Drain == 0 {
		s.scheduler.Drain = -1 // not at all; the zero value is the default
	}
	if f.newToken {
		s.token = freshToken
	}
	s.webhooks = webhook.Options{Guarded: true, Proxy: f.webhookProxy, Release: a.Version}
	if name := a.wrongProxy(); f.webhookProxy && name != "" {
		wrong("webhook-proxy", "%s is no address of a proxy such as http://proxy.example:3128", name)
	}
	for _, text := range f.allowNet {
		network, err := parseNetwork(text)
		if err != nil {
			wrong("allow-net", "%v", err)
			continue
		}
		s.webhooks.Allow = append(s.webhooks.Allow, network)
	}
	s.commands = command.Options{
		Disabled: f.noCommands, Programs: listed(set, "allow-programs", f.allowPrograms), Users: listed(set, "allow-users", f.allowUsers),
		Cgroups: f.cgroup == "auto", Subreaper: true,
	}
	if f.cgroup != "auto" && f.cgroup != "off" {
		wrong("cgroup", "%q is unknown; %s", f.cgroup, wire.Instead(f.cgroup, "auto", "off"))
	}
	for _, path := range f.allowPrograms {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			wrong("allow-programs", "%q is no whole path such as /usr/bin/rsync", path)
		}
	}
	for _, name := range f.allowUsers {
		unknown := user.UnknownUserError("")
		if _, err := user.Lookup(name); name == "" {
			wrong("allow-users", "an empty name")
		} else if errors.As(err, &unknown) { // what cannot be looked up now may be there later
			wrong("allow-users", "there is no user %q on this machine", name)
		}
	}
	s.legacy = f.legacy.settings(f.listen, wrong)
	s.scheduler.Slots = map[string]int{}
	for _, pair := range f.slots {
		pool, number, _ := strings.Cut(pair, "=")
		n, err := strconv.Atoi(number)
		if err != nil || pool == "" {
			wrong("slots", "%q is no POOL=N", pair)
			continue
		}
		s.scheduler.Slots[pool] = n
	}
	var err error
	if s.dir, err = a.dataDirectory(); err != nil {
		faults = append(faults, err)
	}
	if s.store == "" {
		s.store = "sqlite:" + databasePath(s.dir)
	}
	return s, errors.Join(faults...)
}

// listed returns the values of a flag; nil where it was not given, which is not the same as none.
func listed(set *pflag.FlagSet, flag string, values []string) []string {
	if !set.Changed(flag) {
		return nil
	}
	return append([]string{}, values...)
}

// parseNetwork reads a network such as 10.0.0.0/8, or a single address.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network != network.Masked() {
		hint := ""
		if err == nil {
			hint = fmt.Sprintf("; did you mean %s?", network.Masked())
		}
		return netip.Prefix{}, fmt.Errorf("%q is no network such as 10.0.0.0/8, nor an address%s", text, hint)
	}
	return network, nil
}

// wrongProxy returns the variable of the environment that does not name a proxy though it should: requests would pass it by, or fail.
func (a *app) wrongProxy() string {
	for _, names := range [][]string{{"http_proxy", "HTTP_PROXY"}, {"https_proxy", "HTTPS_PROXY"}} {
		for _, name := range names {
			value := a.Getenv(name)
			if value == "" {
				continue
			}
			if !strings.Contains(value, "://") {
				value = "http://" + value
			}
			proxy, err := url.Parse(value)
			if err != nil || proxy.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
				return name
			}
			break // the other is not asked for
		}
	}
	return ""
}

// fromEnvironment sets the flags that were not typed from the environment: --log-level from RUQI_LOG_LEVEL. It returns how
// the user gave each.
func (a *app) fromEnvironment(set *pflag.FlagSet, flags ...string) (names map[string]string, faults []error) {
	names = map[string]string{}
	for _, name := range flags {
		names[name] = "--" + name
		variable := "RUQI_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if value := a.Getenv(variable); value != "" && !set.Changed(name) {
			names[name] = variable
			if err := set.Set(name, value); err != nil {
				faults = append(faults, usage("%s: %s", variable, valueFault(set.Lookup(name), value, err)))
			}
		}
	}
	return names, faults
}

// nameFlags makes faults of the settings be told with what the user typed.
func (a *app) nameFlags(names map[string]string) {
	a.names = func(pointer string) string {
		flag, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if name, ok := names[flag]; ok {
			return name
		}
		return "--" + flag
	}
}

// serve runs the service until ctx ends or a signal comes.
func (a *app) serve(ctx context.Context, s settings) (err error) {
	keepDescriptors()
	logger := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: s.level}))
	s.scheduler.Logger = logger
	if s.scheduler.Zone == nil {
		// Named here, so that previews live in the same zone as jobs.
		s.scheduler.Zone = ruqi.HostZone()
	}
	if err := makeDataDirectory(s.dir); err != nil {
		return err
	}
	a.nameFlags(s.names)
	store, err := standard.OpenStore(ctx, s.store, standard.StoreOptions{Logger: logger})
	if err != nil {
		return err
	}
	defer func() {
		if !errors.Is(err, errLeft) { // closing waits for steps of the store under way
			err = errors.Join(err, store.Jobs.Close())
		}
	}()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("cannot serve on %s: %w", s.listen, err)
	}
	defer func() { _ = listener.Close() }() // closed already by the server, as a rule

	s.scheduler.Instance = instanceName(listener.Addr())
	if len(s.legacy.Open) > 0 {
		logger.Warn("whoever has an address in these networks needs no token on /ruqi, and may run scripts there", "networks", s.legacy.Open)
	}

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	// A reader of what is said here may go away; writing then fails, and the service goes on. The signal is taken
	// rather than ignored, since commands would inherit that.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)

	s.commands.Logger = logger
	registry := standard.Registry(standard.Options{Webhooks: s.webhooks, Commands: s.commands, Calendars: store.Calendars})
	s.scheduler.Calendars = store.Calendars
	scheduler, err := ruqi.New(store.Jobs, registry, s.scheduler)
	if err != nil {
		return err
	}
	// When all else is well: a start that fails makes no token, and leaves the one there is.
	hash, said, err := adminToken(ctx, store.Records, s.dir, s.token)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(a.Stderr, said) // a service without a standard error still serves
	if err := scheduler.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	server := httpapi.NewServer(httpapi.New(httpapi.Options{
		Operations: scheduler, Instances: scheduler, Ready: scheduler.Ready, Registry: registry,
		Tokens: adminTokens(hash), ReadTokens: tokenReader(store.Records), Legacy: &s.legacy,
		Zone: s.scheduler.Zone, Release: a.Version, Logger: logger,
	}))
	for _, pool := range slices.Sorted(maps.Keys(s.scheduler.Slots)) {
		if pool != "default" && pool != "command" {
			if meant := object.DidYouMean(pool, "default", "command"); meant != "" {
				logger.Warn("no kind of task has this pool, but one with nearly its name"+meant, "pool", pool)
			}
			logger.Info("this pool is for jobs that name it (--executor) and for no others", "pool", pool, "slots", s.scheduler.Slots[pool])
		}
	}
	server.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := a.print("listening on http://%s\n", listener.Addr()); err != nil {
		logger.Warn("standard output cannot be written", "error", err)
	}
	var failed error
	select {
	case <-ctx.Done():
	case got := <-signals:
		logger.Info("shutting down; a second signal ends runs by force", "signal", got.String())
	case failed = <-served:
		failed = fmt.Errorf("serve: %w", failed)
	}
	return errors.Join(failed, shutDown(scheduler, server, signals, logger))
}

// errLeft: a third signal came, and nothing is waited for.
var errLeft = errors.New("left at once")

// shutDown waits for the runs, while the API still answers, then lets go of the clients. A signal
// meanwhile ends the runs by force, and is waited for no longer than that takes; one more ends the program.
func shutDown(scheduler *ruqi.Scheduler, server *http.Server, signals <-chan os.Signal, logger *slog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- scheduler.Shutdown(context.Background()) }() // bounded by the drain and the kill graces
	var err error
	forced := false
	for waits := true; waits; {
		select {
		case err = <-ended:
			waits = false
		case got := <-signals:
			if forced {
				logger.Warn("left at once; runs that have not ended are lost", "signal", got.String())
				return errors.Join(errLeft, &silentError{exitFailed})
			}
			forced = true
			scheduler.Abort()
			if n := running(scheduler); n != 0 {
				logger.Warn("ending runs by force", "signal", got.String(), "runs", n)
			}
		}
	}
	if forced {
		err = errors.Join(err, &silentError{exitFailed})
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // whoever still reads has had its time
	}
	return err
}

// running counts the runs that this instance has in hand; -1 where it does not say.
func running(scheduler *ruqi.Scheduler) int {
	ctx, cancel := context.WithTimeout(context.Background(), statusWait)
	defer cancel()
	status, err := scheduler.Status(ctx)
	if err != nil {
		return -1
	}
	n := 0
	for _, pool := range status.Slots {
		n += pool.Used
	}
	return n
}
