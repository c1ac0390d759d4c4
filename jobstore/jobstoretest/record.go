package jobstoretest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var recordRules = []rule{
	{name: "Put/new", check: recordPuts,
		law: "a record put with version 0 is new, gets version 1 and Updated from the store, and keeps its bytes"},
	{name: "Put/versions", check: recordVersions,
		law: "Put writes only at the version it names, else ErrConflict; the stored version is then one higher"},
	{name: "Put/all or none", check: recordAllOrNone,
		law: "Put writes all records or none"},
	{name: "Put/names", check: recordNames,
		law: "kind and key take 1 to 255 bytes each, and are kept apart exactly"},
	{name: "Get/not found", check: recordNotFound,
		law: "Get of a record that is not there is ErrNotFound"},
	{name: "Delete/version", check: recordDeletes,
		law: "Delete removes the record at that version: ErrNotFound if there is none, ErrConflict if it is at another"},
	{name: "List/order", check: recordLists,
		law: "List returns records of the kind whose keys begin with prefix and are greater than after, by key in byte order"},
	{name: "List/limit", check: recordListLimit,
		law: "List returns at most limit records, 50 when it is 0, never more than 1,000"},
	{name: "Append/keys", check: recordAppends,
		law: "Append writes under a new key, at version 1, and keys grow in byte order"},
	{name: "Append/readers", check: recordReaders,
		law: "no record ever appears below a key that List has already returned, however many append at once"},
	{name: "Put/race", check: recordRace,
		law: "of many that put the same new record at once one wins, and the others get ErrConflict"},
}

func (p *probe) wantRecordData(kind, key string, version int64, data string) {
	r, err := p.Get(p.ctx, kind, key)
	if err != nil {
		p.errorf("get %s/%s: %v", kind, key, err)
		return
	}
	if r.Kind != kind || r.Key != key || r.Version != version || string(r.Data) != data {
		p.errorf("the record is %q/%q at %d with %q, want %q/%q at %d with %q", r.Kind, r.Key, r.Version, r.Data, kind, key, version, data)
	}
}

func (p *probe) put(kind, key string, version int64, data string) error {
	return p.Put(p.ctx, ruqi.Record{Kind: kind, Key: key, Version: version, Data: []byte(data)})
}

func recordPuts(p *probe) {
	const data = "any\x00bytes\xff日"
	p.must("put", p.put("token", "a/ü", 0, data))
	p.wantRecordData("token", "a/ü", 1, data)
	r, err := p.Get(p.ctx, "token", "a/ü")
	p.must("get", err)
	p.wantTime("Updated", &r.Updated, p.in(0))
	p.clock.move(time.Second)
	p.must("put", p.Put(p.ctx, ruqi.Record{Kind: "token", Key: "a/ü", Version: 1, Data: []byte("two"), Updated: *p.in(time.Hour)}))
	p.wantRecordData("token", "a/ü", 2, "two")
	r, err = p.Get(p.ctx, "token", "a/ü")
	p.must("get", err)
	p.wantTime("Updated after a second put", &r.Updated, p.in(0))
	p.must("put of no bytes", p.Put(p.ctx, ruqi.Record{Kind: "token", Key: "empty"}))
	p.wantRecordData("token", "empty", 1, "")
	big := strings.Repeat("x", 1<<20)
	p.must("put of a mebibyte", p.put("token", "big", 0, big))
	p.wantRecordData("token", "big", 1, big)
	p.must("put of nothing", p.Put(p.ctx))
}

func recordVersions(p *probe) {
	p.wantErr("put at version 1 of a record that is not there", p.put("k", "a", 1, "x"), ruqi.ErrConflict)
	p.must("put", p.put("k", "a", 0, "one"))
	for _, version := range []int64{0, 2, -1} {
		p.wantErr(fmt.Sprintf("put at version %d of a record at 1", version), p.put("k", "a", version, "x"), ruqi.ErrConflict)
	}
	p.must("put at version 1", p.put("k", "a", 1, "two"))
	p.wantErr("put at version 1 of a record at 2", p.put("k", "a", 1, "x"), ruqi.ErrConflict)
	p.wantRecordData("k", "a", 2, "two")
}

func recordAllOrNone(p *probe) {
	p.must("put", p.put("k", "b", 0, "old"))
	put := func(b int64) error {
		return p.Put(p.ctx, ruqi.Record{Kind: "k", Key: "a", Data: []byte("new")}, ruqi.Record{Kind: "k", Key: "b", Version: b, Data: []byte("new")}, ruqi.Record{Kind: "other", Key: "c", Data: []byte("new")})
	}
	p.wantErr("put of two good records and a conflict", put(0), ruqi.ErrConflict)
	for _, name := range [][2]string{{"k", "a"}, {"other", "c"}} {
		_, err := p.Get(p.ctx, name[0], name[1])
		p.wantErr("get of a record beside the conflict", err, ruqi.ErrNotFound)
	}
	p.wantRecordData("k", "b", 1, "old")
	p.must("put of three good records", put(1))
	p.wantRecordData("k", "a", 1, "new")
	p.wantRecordData("k", "b", 2, "new")
	p.wantRecordData("other", "c", 1, "new")
}

func recordNames(p *probe) {
	long := strings.Repeat("x", 254)
	names := []string{long + "y", long + "z", "a", "A", "a ", "ä", "\x01", "a/b", "%"}
	for i, name := range names {
		p.must("put", p.put("k", name, 0, fmt.Sprint("key", i)))
		p.must("put", p.put(name, "k", 0, fmt.Sprint("kind", i)))
	}
	for i, name := range names {
		p.wantRecordData("k", name, 1, fmt.Sprint("key", i))
		p.wantRecordData(name, "k", 1, fmt.Sprint("kind", i))
	}
	for _, bad := range []string{"", strings.Repeat("x", 256)} {
		p.wantErr(fmt.Sprintf("put with a key of %d bytes", len(bad)), p.put("k", bad, 0, ""), ruqi.ErrInvalid)
		p.wantErr(fmt.Sprintf("put with a kind of %d bytes", len(bad)), p.put(bad, "k", 0, ""), ruqi.ErrInvalid)
	}
}

func recordNotFound(p *probe) {
	p.must("put", p.put("k", "a", 0, "x"))
	for _, name := range [][2]string{{"k", "b"}, {"l", "a"}, {"K", "a"}} {
		_, err := p.Get(p.ctx, name[0], name[1])
		p.wantErr(fmt.Sprintf("get of %q", name), err, ruqi.ErrNotFound)
	}
}

func recordDeletes(p *probe) {
	p.wantErr("delete of a record that is not there", p.Delete(p.ctx, "k", "a", 1), ruqi.ErrNotFound)
	p.must("put", p.put("k", "a", 0, "one"))
	p.must("put", p.put("k", "a", 1, "two"))
	for _, version := range []int64{0, 1, 3} {
		p.wantErr(fmt.Sprintf("delete at version %d of a record at 2", version), p.Delete(p.ctx, "k", "a", version), ruqi.ErrConflict)
	}
	p.wantRecordData("k", "a", 2, "two")
	p.must("delete", p.Delete(p.ctx, "k", "a", 2))
	_, err := p.Get(p.ctx, "k", "a")
	p.wantErr("get after delete", err, ruqi.ErrNotFound)
	p.wantErr("delete twice", p.Delete(p.ctx, "k", "a", 2), ruqi.ErrNotFound)
	p.must("put of a new record under a deleted name", p.put("k", "a", 0, "three"))
	p.wantRecordData("k", "a", 1, "three")
}

func (p *probe) keys(kind, prefix, after string, limit int) []string {
	list, err := p.List(p.ctx, kind, prefix, after, limit)
	p.must("list", err)
	keys := []string{}
	for _, r := range list {
		keys = append(keys, r.Key)
	}
	return keys
}

func recordLists(p *probe) {
	all := []string{"a", "A", "b", "ab", "a/", "a/1", "a/2", "a0", "ä", "日", "z", "a%", "a_", "\x01", "a\xff"}
	for _, key := range all {
		p.must("put", p.put("k", key, 0, "data of "+key))
	}
	p.must("put", p.put("other", "aa", 0, ""))
	slices.Sort(all)
	pick := func(keep func(string) bool) []string {
		list := []string{}
		for _, key := range all {
			if keep(key) {
				list = append(list, key)
			}
		}
		return list
	}
	same(p, "all keys", p.keys("k", "", "", 100), all)
	for _, prefix := range []string{"a", "a/", "ab", "%", "a%", "a_", "日", "none", "\x01"} {
		for _, after := range []string{"", "a", "a/1", "0", "zz"} {
			want := pick(func(key string) bool { return strings.HasPrefix(key, prefix) && key > after })
			same(p, fmt.Sprintf("keys with prefix %q after %q", prefix, after), p.keys("k", prefix, after, 100), want)
		}
	}
	same(p, "two keys after \"a\"", p.keys("k", "", "a", 2), pick(func(key string) bool { return key > "a" })[:2])
	same(p, "keys of no kind", p.keys("none", "", "", 10), []string{})
	list, err := p.List(p.ctx, "k", "a/", "", 1)
	p.must("list", err)
	if len(list) != 1 || string(list[0].Data) != "data of a/" || list[0].Version != 1 || list[0].Kind != "k" {
		p.errorf("a listed record is %+v, want it whole", list)
	}
}

func recordListLimit(p *probe) {
	var records []ruqi.Record
	for i := range 1001 {
		records = append(records, ruqi.Record{Kind: "k", Key: fmt.Sprintf("%04d", i)})
	}
	p.must("put", p.Put(p.ctx, records...))
	for limit, want := range map[int]int{0: 50, 7: 7, 1000: 1000, 5000: 1000} {
		equal(p, fmt.Sprintf("the number of records with limit %d", limit), len(p.keys("k", "", "", limit)), want)
	}
}

func recordAppends(p *probe) {
	last := ""
	for i := range 30 {
		data := fmt.Sprint("entry ", i)
		key, err := p.Append(p.ctx, "audit", []byte(data))
		p.must("append", err)
		if key <= last || len(key) > 255 {
			p.fatalf("the key %q came after %q", key, last)
		}
		p.wantRecordData("audit", key, 1, data)
		last = key
	}
	equal(p, "the number of records", len(p.keys("audit", "", "", 100)), 30)
	p.must("delete of the last", p.Delete(p.ctx, "audit", last, 1))
	key, err := p.Append(p.ctx, "audit", nil)
	p.must("append", err)
	if key <= last {
		p.errorf("the key %q came after %q, which was deleted", key, last)
	}
	_, err = p.Append(p.ctx, "", nil)
	p.wantErr("append without a kind", err, ruqi.ErrInvalid)
}

func recordReaders(p *probe) {
	const writers, each = 4, 25
	handles := p.handles(writers + 1)
	var work sync.WaitGroup
	for i := range writers {
		work.Go(func() {
			for n := range each {
				if _, err := handles[i].Append(p.ctx, "audit", fmt.Appendf(nil, "%d/%d", i, n)); err != nil {
					p.errorf("append: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	seen := map[string]bool{}
	after := ""
	for last := false; ; {
		list, err := handles[writers].List(p.ctx, "audit", "", after, 7)
		p.must("list", err)
		for _, r := range list {
			if r.Key <= after {
				p.fatalf("List after key %q returned key %q", after, r.Key)
			}
			seen[string(r.Data)] = true
			after = r.Key
		}
		if len(list) > 0 {
			continue
		}
		if last {
			break
		}
		select {
		case <-done:
			last = true // one more look: nothing comes any more
		default:
		}
	}
	equal(p, "the number of records that a reader saw, going on after the last key each time", len(seen), writers*each)
}

func recordRace(p *probe) {
	const racers = 8
	handles := p.handles(racers)
	var mu sync.Mutex
	won := 0
	var work sync.WaitGroup
	for i := range racers {
		work.Go(func() {
			err := handles[i].Put(p.ctx, ruqi.Record{Kind: "token", Key: "first", Data: []byte("x")}, ruqi.Record{Kind: "racer", Key: fmt.Sprint(i)})
			if err == nil {
				mu.Lock()
				won++
				mu.Unlock()
				return
			}
			p.wantErr("put of a record that another made", err, ruqi.ErrConflict)
		})
	}
	work.Wait()
	equal(p, "the number of those that won", won, 1)
	equal(p, "the number of records beside it", len(p.keys("racer", "", "", 0)), 1)
}
