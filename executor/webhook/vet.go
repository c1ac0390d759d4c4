package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/internal/object"
	"github.com/ruqi-dev/ruqi/internal/text"
)

// methods are those that a request may have: the ones that nearly all are, those that IANA has registered beside them, and two that caches are
// cleared by. CONNECT and TRACE are not for webhooks, PRI is no method that anyone sends.
var methods = []string{
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY",
	"ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "LABEL", "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL",
	"MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPFIND", "PROPPATCH", "REBIND", "REPORT", "SEARCH", "UNBIND", "UNCHECKOUT", "UNLINK",
	"UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
	"PURGE", "BAN",
}

// Vet refuses what each run would fail of: an unknown method, a host that is written as an address that may not be reached from here or that
// no resolver finds, a port that there is not. Names are judged when they are resolved, and every address again when a connection is made.
func (e *Executor) Vet(task ruqi.Task) error {
	t, ok := task.(*Task)
	switch {
	case !ok:
		return ruqi.Invalid("/kind", task.Kind(), "no webhook")
	case t.err != nil:
		return t.err
	}
	var faults ruqi.Faults
	if !slices.Contains(methods, t.method) {
		faults.Add("/method", t.method, "unknown method; accepted are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS and QUERY, the others that are registered with IANA, and PURGE and BAN%s",
			object.DidYouMean(t.method, methods...))
	}
	pointer := "/url"
	if t.call != "" {
		pointer = "/call"
	}
	if err := e.literal(t.url); err != nil {
		faults.Add(pointer, "", "%v", err)
	}
	if u, err := url.Parse(t.url); err == nil {
		if why := neverFound(u.Hostname()); why != "" {
			faults.Add(pointer, "", "%s", why)
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
			faults.Add(pointer, "", "the port %s is none from 1 to 65535", u.Port())
		}
	}
	if host, given := t.headers["Host"]; given {
		if plain, err := httpguts.PunycodeHostPort(host); err != nil || !httpguts.ValidHostHeader(plain) {
			faults.Add("/headers/Host", host, "is no host")
		}
	}
	if t.method == "HEAD" && t.answer == answerJSON {
		faults.Add("/answer", t.answer, "the answer to HEAD has no body, and so no JSON")
	}
	return faults.Err()
}

// neverFound says why no resolver finds a host, whatever names there are; empty where one may.
func neverFound(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	if strings.Trim(host, "0123456789.") == "" {
		return host + " is no address, and no name, which has a letter"
	}
	const longest, longestPart = 253, 63 // bytes (RFC 1035, section 2.3.4, without the root)
	plain, err := httpguts.PunycodeHostPort(host)
	name := strings.TrimSuffix(plain, ".")
	wrong := err != nil || len(name) > longest
	for part := range strings.SplitSeq(name, ".") {
		wrong = wrong || part == "" || len(part) > longestPart || part[0] == '-' || part[len(part)-1] == '-'
	}
	if wrong {
		return text.Cut(host, longestPart) + " is no name of a host"
	}
	return ""
}
