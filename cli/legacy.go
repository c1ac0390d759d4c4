package cli

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ruqi-dev/ruqi/httpapi/legacy"
)

// legacyFlags are the settings of /ruqi as they were typed.
type legacyFlags struct {
	open, hosts, programs []string
	get                   bool
}

func (f *legacyFlags) add(set *pflag.FlagSet) {
	set.StringSliceVar(&f.open, "legacy-open", nil, "`network` whose addresses need no token on /ruqi: 10.1.0.0/16, 127.0.0.1; may be given again")
	set.StringSliceVar(&f.hosts, "legacy-host", nil, "`name` by which clients without a token may call the service, beside its addresses, localhost and the host's name; may be given again")
	set.StringSliceVar(&f.programs, "legacy-programs", nil, "`program` that scripts of /ruqi may be started by, beside python, python3 and bash, exactly so written; may be given again")
	set.BoolVar(&f.get, "legacy-get", false, "let GET change things on /ruqi, too")
}

// settings checks the flags. Who has no token may also call the service by the name it listens on, and by that of its host.
func (f *legacyFlags) settings(listen string, wrong func(flag, format string, args ...any)) legacy.Settings {
	s := legacy.Settings{ChangeByGet: f.get, Hosts: f.hosts, Programs: f.programs}
	for _, text := range f.open {
		network, err := parseNetwork(text)
		if err != nil {
			wrong("legacy-open", "%v", err)
			continue
		}
		s.Open = append(s.Open, network)
	}
	for _, name := range f.hosts {
		if name == "" || strings.ContainsAny(name, ":/@ ") {
			wrong("legacy-host", "%q is no name of a host such as ruqi.example.org; it stands without a port", name)
		}
	}
	for _, program := range f.programs {
		if program == "" || strings.ContainsAny(program, " \t\r\n'\"\\") {
			wrong("legacy-programs", "%q is no program such as php or /usr/bin/php; arguments are for the command", program)
		}
	}
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		s.Hosts = append(s.Hosts, host)
	}
	if host, err := os.Hostname(); err == nil {
		s.Hosts = append(s.Hosts, host)
	}
	return s
}

// instanceName is HOST:PORT:PID, as clients of the original service know one, and chance: containers often have process 1, the
// same port, and may share a host name.
func instanceName(addr net.Addr) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	port := 0
	if tcp, ok := addr.(*net.TCPAddr); ok {
		port = tcp.Port
	}
	return fmt.Sprintf("%s:%d:%d:%s", host, port, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}
