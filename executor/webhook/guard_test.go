package webhook_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/executor/webhook"
)

// names is a resolver that never leaves the process: it answers with the next of a name's addresses each time.
type names struct {
	addresses map[string][]string
	asked     atomic.Int32
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.answer(ours)
		return theirs, nil
	}}
}

// answer answers the questions of one connection, which are framed as over TCP since a pipe is no packet connection.
func (n *names) answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := readFull(c, size[:]); err != nil {
			return
		}
		question := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := readFull(c, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
			return
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		list := n.addresses[strings.TrimSuffix(q.Name.String(), ".")]
		if len(list) == 0 {
			m.RCode = dnsmessage.RCodeNameError
		} else {
			at := 0
			if q.Type == dnsmessage.TypeA {
				at = int(n.asked.Add(1)) - 1
			}
			addr := netip.MustParseAddr(list[min(at, len(list)-1)])
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
			switch {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
			case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
		packed, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := c.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)); err != nil {
			return
		}
	}
}

func readFull(c net.Conn, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m, err := c.Read(b[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// What may not be reached is not reached however it is written, and nothing is sent to find that out.
func TestAddressesThatAreRefused(t *testing.T) {
	resolver := (&names{addresses: map[string][]string{
		"metadata.example": {"169.254.169.254"}, "inside.example": {"10.1.2.3"}, "loop.example": {"127.0.0.1"}, "six.example": {"::1"},
		"mapped.example": {"::ffff:10.0.0.1"}, "nat.example": {"64:ff9b::a9fe:a9fe"}, "2130706433": {"127.0.0.1"}, "0177.0.0.1": {"127.0.0.1"}, "0x7f.1": {"127.0.0.1"},
	}}).resolver()
	open := webhook.New(webhook.Options{Resolver: resolver})
	guarded := webhook.New(webhook.Options{Guarded: true, Resolver: resolver})
	allowed := webhook.New(webhook.Options{Guarded: true, Resolver: resolver, Allow: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"),
	}})
	const never, guard = "link-local, multicast or reserved", "is not public"
	for host, want := range map[string]string{
		"169.254.169.254": never, "[fe80::1]": never, "[fe80::1%25lo]": never, "224.0.0.1": never, "[ff02::1]": never, "255.255.255.255": never, "0.0.0.0": never, "[::]": never,
		"[::ffff:169.254.169.254]": never, "[::ffff:a9fe:a9fe]": never, "[64:ff9b::169.254.169.254]": never, "[2002:a9fe:a9fe::1]": never, "[::169.254.169.254]": never,
		"[64:ff9b:1:a9fe:a9:fe00:808:808]": never, "[2001::1]": never, "[::ffff:0:169.254.169.254]": never,
		"[fd00:ec2::254]": never, "100.100.100.200": never, "metadata.example": never, "nat.example": never,
		"127.0.0.1": guard, "127.9.9.9": guard, "[::1]": guard, "10.0.0.1": guard, "172.16.0.1": guard, "172.31.255.255": guard, "192.168.1.1": guard, "[fd12::1]": guard, "100.64.0.1": guard,
		"[::ffff:127.0.0.1]": guard, "[64:ff9b::10.0.0.1]": guard, "[2002:7f00:1::]": guard, "inside.example": guard, "loop.example": guard, "six.example": guard, "mapped.example": guard,
		"0x7f.1": guard, "localhost": guard,
		"2130706433": "no such host", "0177.0.0.1": "no such host", // no names, and no addresses either
	} {
		task := webhook.Request("GET", "http://"+host+":1/latest/meta-data")
		result, out := run(t, guarded, task)
		if result.Err == nil || !strings.Contains(result.Err.Error(), want) || out != "" {
			t.Errorf("guarded, %s: %v, want %q", host, result.Err, want)
		}
		if host[0] == '[' || strings.Count(host, ".") == 3 && want != "no such host" {
			for pointer, text := range map[string]string{"/url": `"url":"http://` + host + `/"`, "/call": `"call":"http://` + host + `/#{}"`} {
				task, err := guarded.Decode([]byte(`{"kind":"webhook",` + text + `}`))
				if err != nil { // it may have been stored by an instance that may reach it
					t.Errorf("a job with %s cannot be read: %v", text, err)
					continue
				}
				var invalid *ruqi.InvalidError
				if err := guarded.Vet(task); !errors.As(err, &invalid) || invalid.Faults[0].Pointer != pointer || !strings.Contains(err.Error(), want) {
					t.Errorf("a job with %s is given: %v, want %q", text, err, want)
				}
			}
		}
		if want == never {
			for name, e := range map[string]*webhook.Executor{"open": open, "with everything allowed": allowed} {
				if result, _ := run(t, e, task); result.Err == nil || !strings.Contains(result.Err.Error(), never) {
					t.Errorf("%s, %s: %v, want %q", name, host, result.Err, never)
				}
			}
		}
	}
}

func TestAllowedNetworksAreReached(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	for what, e := range map[string]*webhook.Executor{
		"open":    webhook.New(webhook.Options{}),
		"allowed": webhook.New(webhook.Options{Guarded: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}),
	} {
		if result, _ := run(t, e, webhook.Request("GET", server.URL)); result.Err != nil {
			t.Errorf("%s: %v", what, result.Err)
		}
	}
}

// SR03: a name that resolves to an allowed address first and to another one later is judged each time, a redirect by where it leads.
func TestANameThatChangesItsAddress(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n := &names{addresses: map[string][]string{"rebind.example": {"127.0.0.1", "169.254.169.254"}}}
	e := webhook.New(webhook.Options{Guarded: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: n.resolver()})
	url := "http://rebind.example:" + port + "/"
	if result, _ := run(t, e, webhook.Request("GET", url)); result.Err != nil {
		t.Fatalf("the first time: %v", result.Err)
	}
	if result, _ := run(t, e, webhook.Request("GET", url)); result.Err == nil || !strings.Contains(result.Err.Error(), "link-local") {
		t.Errorf("the second time: %v", result.Err)
	}
	for _, to := range []string{"http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://10.0.0.1/", "http://[::1]:1/", "http://0.0.0.0/", url} {
		if result, _ := run(t, e, webhook.Request("GET", server.URL+"/?to="+to)); result.Err == nil || !strings.Contains(result.Err.Error(), "address not allowed") {
			t.Errorf("a redirect to %s: %v", to, result.Err)
		}
	}
}

// The proxies of the environment would hide where a request goes.
func TestProxiesOfTheEnvironmentAreLeftAlone(t *testing.T) {
	proxied := false
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied = true })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	e := webhook.New(webhook.Options{Resolver: (&names{}).resolver()})
	if result, _ := run(t, e, webhook.Request("GET", "http://nowhere.example/")); result.Err == nil || proxied {
		t.Errorf("%v, by way of the proxy: %t", result.Err, proxied)
	}
}
