//go:build linux

package crash_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/internal/netfault"
	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

const (
	// hammerSlots is how many services share the store.
	hammerSlots = 3
	// blowPause is the most time between two blows.
	blowPause = 500 * time.Millisecond
	// mostWeather is how long the network of a service is bad at most: several leases.
	mostWeather = 3 * lease
	// calmEnd is how long the steady triggers go on after the last blow.
	calmEnd = 3 * time.Second
	// healWait bounds how long services may take to be well again: a step that hangs is given up after 10 s.
	healWait = 60 * time.Second
)

// An outage of the server begins so long after the first blow, and takes so long.
type outage struct{ after, takes time.Duration }

// A hammer hits the services of a site, their network and their server.
type hammer struct {
	t     *testing.T
	r     *rand.Rand
	site  *site
	gate  *gateway
	slots []*slot
	// server is hit, too, and so is the network to it; nil: neither is.
	server *postgrestest.Server
	// clocks are how far those of the services are off; nil: the services are the program.
	clocks []time.Duration
	// orders are the jobs, whose steady triggers end so long after they were added.
	orders func(life time.Duration) []order
	agenda agenda
	down   bool // the server is
	counts map[string]int
}

// TestCrashHammerFile hammers services that share a file.
func TestCrashHammerFile(t *testing.T) {
	t.Parallel()
	h := &hammer{t: t, r: random(t), site: newSite(t), orders: anvil}
	h.run(pick(10*time.Second, 60*time.Second), nil)
}

// run hits for so long, lets everything heal, and judges.
func (h *hammer) run(length time.Duration, outages []outage) history {
	h.t.Helper()
	h.gate, h.counts, h.site.tells = newGateway(), map[string]int{}, true
	living, stop := context.WithCancel(h.t.Context())
	h.furnish(living)
	defer h.close(stop)
	first, err := h.slots[0].await(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	all := h.orders(length + calmEnd + 2*time.Second)
	u := &users{site: h.site, gate: h.gate, ledger: newLedger(), wait: 10 * time.Second, retires: true, byHand: byHand(all)}
	addAll(h.t, u, first.client, all)
	watching, look := context.WithCancel(h.t.Context())
	defer look()
	w := newWitness(h.t, h.site.address)
	w.begin(watching)
	working, rest := context.WithCancel(h.t.Context())
	defer rest()
	u.begin(working, all, h.r.Uint64())

	h.blow()
	for _, o := range outages {
		h.agenda.later(o.after, func() { h.outage(o.takes) })
	}
	h.agenda.do(h.t.Context(), time.Now().Add(length))
	h.heal()
	h.awaitHealth()
	rest()
	u.group.Wait()
	h.t.Logf("what was done: %v; starts of each service: %v", h.counts, h.starts())
	w.owned(healWait)
	u.ledger.check(h.t, readStore(h.t, h.site.address))
	settle(h.t, u.ledger, h.slots[0].present().client)
	look()
	w.group.Wait()
	h.awaitHealth()
	w.instances(hammerSlots, healWait)
	stop()
	h.end()
	verdict := verdictOf(h.t, h.site, u)
	show(h.t, w.judge(verdict))
	return verdict
}

// furnish starts a service in each slot, behind a network of its own if there is a server.
func (h *hammer) furnish(ctx context.Context) {
	h.t.Helper()
	for n := range hammerSlots {
		s := &slot{site: h.site, gate: h.gate, n: n}
		if h.clocks != nil {
			s.way.clock = &h.clocks[n]
		}
		if h.server != nil {
			var err error
			if s.network, err = netfault.Open(h.t.Context(), fmt.Sprintf("127.0.0.1:%d", h.server.Port())); err != nil {
				h.t.Fatal(err)
			}
			if s.way.address, err = through(h.site.address, s.network.Addr()); err != nil {
				h.t.Fatal(err)
			}
		}
		h.slots = append(h.slots, s)
		s.begin(ctx)
		if _, err := s.await(ctx); err != nil { // one after the other: the first makes the token
			h.t.Fatal(err)
		}
	}
}

// close ends what is left of a test that failed on the way.
func (h *hammer) close(stop context.CancelFunc) {
	stop()
	for _, s := range h.slots {
		s.group.Wait()
		if s.network != nil {
			if err := s.network.Close(); err != nil {
				h.t.Error(err)
			}
		}
	}
}

// blow does something bad to one of the services, and the next one in a moment.
func (h *hammer) blow() {
	defer h.agenda.later(time.Duration(h.r.Int64N(int64(blowPause))), h.blow)
	s := h.slots[h.r.IntN(len(h.slots))]
	kinds := 2
	if s.network != nil {
		kinds = 6
	}
	switch h.r.IntN(kinds) {
	case 0:
		h.counts["kills"]++
		s.kill()
	case 1:
		if v := s.freeze(); v != nil {
			h.counts["stops"]++
			h.agenda.later(freezeLeast+time.Duration(h.r.Int64N(int64(freezeMost-freezeLeast))), func() { s.thaw(v) })
		}
	default:
		h.weather(s)
	}
}

// weather makes the network of a service bad for a while.
func (h *hammer) weather(s *slot) {
	ways := []netfault.Direction{netfault.ToServer, netfault.ToClient, netfault.Both}
	way := ways[h.r.IntN(len(ways))]
	kinds := []struct {
		name string
		do   func()
	}{
		{"delays", func() { s.network.Delay(way, time.Duration(1+h.r.Int64N(200))*time.Millisecond) }},
		{"resets", s.network.Reset},
		{"cuts", func() { s.network.Cut(way, h.r.Int64N(400)) }},
		{"lost answers", func() { s.network.Cut(netfault.ToClient, 0) }},
		{"drops", func() { s.network.Drop(way) }},
		{"stalls", func() { s.network.Stall(way) }},
		{"refusals", func() { s.network.Refuse(); s.network.Reset() }},
	}
	kind := kinds[h.r.IntN(len(kinds))]
	h.counts[kind.name]++
	kind.do()
	h.agenda.later(time.Duration(h.r.Int64N(int64(mostWeather))), s.network.Heal)
}

// outage kills the server, and starts it again when the time has come.
func (h *hammer) outage(takes time.Duration) {
	h.counts["outages"]++
	h.down = true
	h.server.Kill()
	h.agenda.later(takes, h.up)
}

func (h *hammer) up() {
	if h.down {
		h.server.Start()
		h.down = false
	}
}

// heal ends everything bad that goes on.
func (h *hammer) heal() {
	h.agenda = nil
	h.up()
	for _, s := range h.slots {
		s.thaw(nil)
		if s.network != nil {
			s.network.Heal()
		}
	}
}

// awaitHealth waits until each service is ready.
func (h *hammer) awaitHealth() {
	h.t.Helper()
	for _, s := range h.slots {
		await(h.t, fmt.Sprintf("readiness of service %d", s.n), healWait, func() bool { return s.present().isReady() })
	}
	if h.t.Failed() {
		h.t.FailNow()
	}
}

// end lets the services leave, whose supervisors have gone.
func (h *hammer) end() {
	h.t.Helper()
	for _, s := range h.slots {
		s.group.Wait()
		s.present().term()
	}
}

func (h *hammer) starts() []int {
	var n []int
	for _, s := range h.slots {
		n = append(n, s.starts)
	}
	return n
}

// An agenda is what is to be done at which time, by the goroutine of the test.
type agenda []deed

type deed struct {
	at time.Time
	do func()
}

func (a *agenda) later(wait time.Duration, do func()) {
	*a = append(*a, deed{time.Now().Add(wait), do})
	slices.SortStableFunc(*a, func(x, y deed) int { return x.at.Compare(y.at) })
}

// do does what is due until a time; deeds may add others. What is left is not done.
func (a *agenda) do(ctx context.Context, until time.Time) {
	for len(*a) > 0 && (*a)[0].at.Before(until) {
		next := (*a)[0]
		*a = (*a)[1:]
		wait := time.NewTimer(time.Until(next.at))
		select {
		case <-wait.C:
			next.do()
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
	wait := time.NewTimer(time.Until(until))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// anvil are the jobs of the hammer. The triggers of the steady ones end so long after they were added, so that they come to their
// end by themselves.
func anvil(life time.Duration) []order {
	var all []order
	for i := range 200 {
		o := order{id: fmt.Sprintf("%s-%03d", steady, i), group: steady, every: time.Second, life: life,
			coalesce: i%4 != 3, limit: 1 + i%3/2*2, catchup: 30, rerun: i%5 == 1, silent: i%2 == 0}
		switch {
		case i%40 == 9: // longer than several intervals
			o.takes, o.catchup = 5*time.Second, 2
		case i%20 == 4: // with a limit of 1 it skips every other fire
			o.takes, o.catchup = 2*time.Second, 2
		case i%10 == 7:
			o.takes = 100 * time.Millisecond
		}
		if i%50 == 13 {
			o.maxRuns = 10
		}
		all = append(all, o)
	}
	for i, takes := range []time.Duration{0, 0, 120 * time.Millisecond, 200 * time.Millisecond, 0, 120 * time.Millisecond} {
		all = append(all, order{id: fmt.Sprintf("%s-fast-%d", steady, i), group: steady, every: 50 * time.Millisecond, life: life,
			takes: takes, coalesce: i%2 == 0, limit: 1 + i/3*2, catchup: 30, rerun: i%3 == 1})
	}
	for i, group := range []string{policed, policed, policed, paused, paused, paused, turned, turned} {
		all = append(all, order{id: fmt.Sprintf("%s-%d", group, i), group: group, every: []time.Duration{200 * time.Millisecond, time.Second}[i%2],
			coalesce: i%2 == 0, limit: 1 + i%2*2, catchup: 30, rerun: i%3 == 1})
	}
	return append(all, order{id: sleeper, group: sleeper, every: time.Second, takes: 10 * time.Minute, coalesce: true, limit: 1, catchup: 10, rerun: true})
}

// byHand are the jobs that users start: those that fire so seldom that the rows of their runs are not cleaned away
// before the test looks for them.
func byHand(all []order) []order {
	return slices.DeleteFunc(slices.Clone(all), func(o order) bool {
		return o.every < 200*time.Millisecond || o.group == turned || o.group == sleeper
	})
}
