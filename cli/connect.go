package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
)

// errTokenFile: the file of the token cannot be read. What is wrong with it is told already.
var errTokenFile = errors.New("the token's file cannot be read")

// address returns where the service is, as far as it was said. HOST:PORT alone, as --listen has it, means
// http.
func (a *app) address() string {
	for _, address := range []string{a.server, a.Getenv("RUQI_SERVER")} {
		switch {
		case strings.Contains(address, "://"):
			return address
		case address != "":
			return "http://" + address
		}
	}
	return defaultServer
}

// connect returns a client of the service.
func (a *app) connect() (*client.Client, error) {
	address := a.address()
	token, err := a.findToken(address)
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, token, standard.Registry(standard.Options{Calendars: elsewhere{}}), client.Options{Agent: "ruqi-cli"})
	if err != nil {
		a.names = func(pointer string) string {
			switch {
			case pointer == "/server" && a.server == "":
				return "RUQI_SERVER"
			case pointer == "/token" && a.tokenFrom != "":
				return a.tokenFrom
			}
			return "-" + strings.ReplaceAll(pointer, "/", "-")
		}
		return nil, err
	}
	return c, nil
}

// findToken returns the token to send and notes where it was found; empty where there is none.
func (a *app) findToken(address string) (string, error) {
	if a.token != "" {
		a.tokenFrom = "--token"
		return a.token, nil
	}
	if token := a.Getenv("RUQI_TOKEN"); token != "" {
		a.tokenFrom = "RUQI_TOKEN"
		return token, nil
	}
	path := a.tokenPath()
	if path == "" || !isLocal(address) {
		return "", nil // the file's token is this host's service's; it is not sent to another
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // reading a FIFO would wait for ever
		return "", fmt.Errorf("%w: %w: %s is no regular file; --token or RUQI_TOKEN gives another", client.ErrDenied, errTokenFile, path)
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case errors.Is(err, os.ErrPermission):
		return "", fmt.Errorf("%w: %w: %w; --token or RUQI_TOKEN gives another", client.ErrDenied, errTokenFile, err)
	case err != nil:
		return "", err
	}
	a.tokenFrom = path
	return string(bytes.TrimSpace(text)), nil
}

// tokenPath returns where the file of this host's token is; empty where no place is known.
func (a *app) tokenPath() string {
	dir, err := a.dataDirectory()
	if err != nil {
		return "" // no home, no file
	}
	return filepath.Join(dir, tokenFile)
}

// explainDenied says which token the service did not take, or where one was looked for in vain.
func (a *app) explainDenied() []string {
	path := a.tokenPath()
	switch {
	case a.tokenFrom != "":
		return []string{
			"not allowed: the service at " + a.address() + " refused the token from " + a.tokenFrom,
			"it may be another service's: the right one is in the file that the service names when it starts; if it is lost, or another start of a service on the same store has replaced it, ruqi serve --new-token makes a new one",
		}
	case !isLocal(a.address()) || path == "":
		return []string{"not allowed: no token was sent to " + a.address() + ": neither --token nor RUQI_TOKEN is given"}
	}
	return []string{
		"not allowed: no token was sent: neither --token nor RUQI_TOKEN is given, and there is no " + path,
		"a service that was started with RUQI_DATA_DIR or --data-dir, or by root, has its token elsewhere: give the same RUQI_DATA_DIR or --data-dir here",
	}
}

// isLocal reports whether the address is one of this host's loopback.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLoopback(u.Hostname())
}

// isLoopback reports whether only this host can reach a listener at that host name.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
