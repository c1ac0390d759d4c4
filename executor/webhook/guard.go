package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// errRefused marks an address that a request may not reach.
var errRefused = errors.New("address not allowed")

// never are addresses that no request may reach, whatever is allowed. Loopback and private ones are not among them.
var never = prefixes(
	"0.0.0.0/8",          // this host, which some systems take for loopback (RFC 1122)
	"169.254.0.0/16",     // link-local, and the metadata services of clouds (RFC 3927)
	"192.0.0.0/24",       // protocol assignments; metadata of one cloud (RFC 6890)
	"224.0.0.0/4",        // multicast
	"240.0.0.0/4",        // reserved, and broadcast
	"100.100.100.200/32", // metadata of another cloud
	"168.63.129.16/32",   // and of another
	"fe80::/10",          // link-local
	"ff00::/8",           // multicast
	"::/128",             // unspecified
	"fd00:ec2::254/128",  // metadata
	"fd20:ce::254/128",   // metadata
	// Gateways make an IPv4 address of these, at places that differ from network to network.
	"64:ff9b:1::/48",  // NAT64 of a site (RFC 8215)
	"2001::/32",       // Teredo (RFC 4380)
	"::ffff:0:0:0/96", // SIIT (RFC 7915)
)

// inside are the addresses that are refused where a guard is wanted, unless they are allowed.
var inside = prefixes(
	"127.0.0.0/8", "::1/128", // loopback
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", // private (RFC 1918, RFC 4193)
	"100.64.0.0/10", // shared by carriers (RFC 6598)
	"198.18.0.0/15", // benchmarks (RFC 2544)
	"fec0::/10",     // site-local, as it was
)

// embedding are IPv6 networks whose addresses hold an IPv4 address, from the bit given on: a gateway makes that of them.
var embedding = []struct {
	prefix netip.Prefix
	byte   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4 (RFC 3056)
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible (RFC 4291)
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// mayReach says why a request may not reach an address; nil: it may.
func (e *Executor) mayReach(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if err := e.judge(addr); err != nil {
		return err
	}
	if addr.Is6() && addr != netip.IPv6Loopback() {
		bytes := addr.As16()
		for _, n := range embedding {
			if n.prefix.Contains(addr) {
				return e.judge(netip.AddrFrom4([4]byte(bytes[n.byte : n.byte+4])))
			}
		}
	}
	return nil
}

func (e *Executor) judge(addr netip.Addr) error {
	switch {
	case within(never, addr):
		return fmt.Errorf("%w: %s is link-local, multicast or reserved", errRefused, addr)
	case e.guarded && within(inside, addr) && !within(e.allow, addr):
		return fmt.Errorf("%w: %s is not public; ruqi serve --allow-net lets webhooks reach it", errRefused, addr)
	}
	return nil
}

// literal judges a url whose host is written as an address, so that whoever gives the task hears of it.
func (e *Executor) literal(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // it has its fault already
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return nil
	}
	return e.mayReach(addr)
}

// control is called with the address of every connection, right before it is made.
func (e *Executor) control(network, address string, _ syscall.RawConn) error {
	end, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s %s", errRefused, network, address)
	}
	return e.mayReach(end.Addr())
}

// connectTime bounds the making of one connection: a SYN is sent again after 1, 3, 7 and 15 s.
const connectTime = 20 * time.Second

func (e *Executor) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: connectTime, KeepAlive: 15 * time.Second, Control: e.control, Resolver: e.resolver}
	return d.DialContext
}
