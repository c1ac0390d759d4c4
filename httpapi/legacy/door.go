package legacy

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// admit says why a request is not let in; nil: it is. Who has a token is. Who has none must have an open address, and what is asked
// from there must not be the work of a page of another site: a browser in an open network carries its rights, which are its address,
// into whatever page it is led to.
func (h *Handler) admit(r *http.Request, changes bool) *fault {
	if _, ok := h.Bearer(r.Context(), bearer(r.Header.Values("Authorization"))); ok {
		return nil
	}
	if !h.isOpen(r.RemoteAddr) {
		return &fault{status: http.StatusUnauthorized, stat: statFailed, reason: "Unauthorized", detail: "a valid token is needed: Authorization: Bearer TOKEN"}
	}
	detail := ""
	switch {
	case !h.knowsHost(r.Host):
		detail = "without a token the service is called by its address, or by a name given to ruqi serve --legacy-host"
	case foreign(r, changes):
		detail = "without a token no page of another site may ask"
	default:
		return nil
	}
	return &fault{status: http.StatusForbidden, stat: statFailed, reason: "Forbidden", detail: detail}
}

// bearer turns the old way to write the header, "Bearer: TOKEN", into the proper one.
func bearer(headers []string) []string {
	if len(headers) != 1 {
		return headers
	}
	const old = "Bearer:"
	if len(headers[0]) >= len(old) && strings.EqualFold(headers[0][:len(old)], old) {
		return []string{"Bearer " + strings.TrimSpace(headers[0][len(old):])}
	}
	return headers
}

// isOpen reports whether the peer of a connection needs no token.
func (h *Handler) isOpen(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	addr := peer.Addr().Unmap().WithZone("")
	for _, network := range h.Open {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// knowsHost reports whether a request names the service as it may be named by who has no token. A page whose own name has been made to
// lead here (DNS rebinding) is of this site in the eyes of its browser; that name alone gives it away. No such page can have an address, or
// localhost, for its name.
func (h *Handler) knowsHost(host string) bool {
	name := host
	if alone, _, err := net.SplitHostPort(host); err == nil {
		name = alone
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if name == "" || name == "localhost" { // without a name no browser asks
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for _, known := range h.Hosts {
		if strings.EqualFold(strings.TrimSuffix(known, "."), name) {
			return true
		}
	}
	return false
}

// foreign reports whether a browser may have sent a request for a page of another site.
func foreign(r *http.Request, changes bool) bool {
	// What browsers say of themselves is asked of every method, not only of those that should change something.
	probe := &http.Request{Method: http.MethodPost, URL: r.URL, Host: r.Host, Header: r.Header}
	if (&http.CrossOriginProtection{}).Check(probe) != nil {
		return true
	}
	if !changes || r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
		return false
	}
	// A picture's address in a page of elsewhere is fetched by GET, and over plain http with neither of those headers. A page of
	// this site has it as the Referer, which no page can forge, though it may leave it out.
	if referer := r.Header.Get("Referer"); referer != "" {
		u, err := url.Parse(referer)
		return err != nil || u.Host != r.Host
	}
	return strings.HasPrefix(r.Header.Get("User-Agent"), "Mozilla/") // as every browser calls itself
}
