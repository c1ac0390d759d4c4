package memory

// pageRows is how many ids one page spans: 8 KiB of pointers.
const pageRows = 1 << pageBits
const pageBits = 10

// pages finds rows by id. Ids grow without gaps and old rows go first, so a list of
// pages costs a third of a map and is in order already.
type pages struct {
	list []*page // nil where all rows are gone
	base int64   // number of list[0]
	last int64   // the last id given
}

type page struct {
	rows [pageRows]*run
	n    int
	// earliest is no later than the first end of an ended row in the page: Clean
	// passes the page over by it.
	earliest int64
}

// add gives the row its id.
func (p *pages) add(r *run) {
	p.last++
	r.id = p.last
	number := r.id >> pageBits
	if len(p.list) == 0 {
		p.base = number
	}
	if number-p.base == int64(len(p.list)) {
		p.list = append(p.list, &page{earliest: never})
	}
	at := number - p.base
	if p.list[at] == nil {
		p.list[at] = &page{earliest: never} // its rows went before it was full
	}
	p.list[at].rows[r.id&(pageRows-1)] = r
	p.list[at].n++
}

func (p *pages) page(id int64) *page {
	at := id>>pageBits - p.base
	if id < 1 || at < 0 || at >= int64(len(p.list)) {
		return nil
	}
	return p.list[at]
}

// find returns the row, or nil.
func (p *pages) find(id int64) *run {
	pg := p.page(id)
	if pg == nil {
		return nil
	}
	return pg.rows[id&(pageRows-1)]
}

func (p *pages) noteEnd(r *run) {
	pg := p.page(r.id)
	pg.earliest = sooner(pg.earliest, r.finished)
}

// drop forgets a row.
func (p *pages) drop(r *run) {
	pg := p.page(r.id)
	pg.rows[r.id&(pageRows-1)] = nil
	if pg.n--; pg.n > 0 {
		return
	}
	p.list[r.id>>pageBits-p.base] = nil
	for len(p.list) > 0 && p.list[0] == nil {
		p.list = p.list[1:]
		p.base++
	}
}

// before calls visit with each row whose id is less than id, newest first, until
// visit returns false.
func (p *pages) before(id int64, visit func(*run) bool) {
	id = min(id, p.last+1)
	for number := (id - 1) >> pageBits; id > 1 && number >= p.base; number-- {
		if at := number - p.base; at < int64(len(p.list)) && p.list[at] != nil {
			rows := &p.list[at].rows
			for i := (id - 1) & (pageRows - 1); i >= 0; i-- {
				if r := rows[i]; r != nil && !visit(r) {
					return
				}
			}
		}
		id = number << pageBits
	}
}
