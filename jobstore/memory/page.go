package memory

const (
	// pageRows is how many ids one page spans, chunkRows how many lie side by side: one row that stays keeps the memory of
	// its chunk, 4 KiB, and 1.5 more where a row of the chunk had extras, and the page's 304 bytes (64-bit).
	pageBits  = 10
	pageRows  = 1 << pageBits
	chunkBits = 6
	chunkRows = 1 << chunkBits
)

// pages finds rows by id. Ids grow without gaps and old rows go first, so a list of
// pages costs a third of a map and is in order already. A row stays where it is until it is dropped.
type pages struct {
	list []*page // nil where all rows are gone
	base int64   // number of list[0]
	last int64   // the last id given
}

type page struct {
	chunks [pageRows / chunkRows]*[chunkRows]run // nil where all rows are gone
	extras [pageRows / chunkRows]*extras         // nil: no row of the chunk has any
	left   [pageRows / chunkRows]int16           // rows of each chunk
	n      int
	// earliest is no later than the first end of an ended row in the page: Clean
	// passes the page over by it.
	earliest int64
}

// extras are what only some rows of a chunk have, and all that has pointers.
type extras struct {
	rests   [chunkRows]*rest // nil: all of its fields are empty
	reasons [chunkRows]string
}

// add makes a row and gives it its id.
func (p *pages) add() *run {
	p.last++
	number := p.last >> pageBits
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
	pg, chunk := p.list[at], chunkOf(p.last)
	if pg.chunks[chunk] == nil {
		pg.chunks[chunk] = new([chunkRows]run)
	}
	pg.left[chunk]++
	pg.n++
	r := &pg.chunks[chunk][p.last&(chunkRows-1)]
	r.id = p.last
	return r
}

func chunkOf(id int64) int64 { return id & (pageRows - 1) >> chunkBits }

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
	chunk := pg.chunks[chunkOf(id)]
	if chunk == nil || chunk[id&(chunkRows-1)].id == 0 {
		return nil
	}
	return &chunk[id&(chunkRows-1)]
}

// rest returns what only some rows have, or nil.
func (p *pages) rest(r *run) *rest {
	if e := p.page(r.id).extras[chunkOf(r.id)]; e != nil {
		return e.rests[r.id&(chunkRows-1)]
	}
	return nil
}

// more is rest for who wants to write there.
func (p *pages) more(r *run) *rest {
	m := &p.extrasOf(r).rests[r.id&(chunkRows-1)]
	if *m == nil {
		*m = &rest{coalescedFrom: never}
	}
	return *m
}

func (p *pages) extrasOf(r *run) *extras {
	e := &p.page(r.id).extras[chunkOf(r.id)]
	if *e == nil {
		*e = new(extras)
	}
	return *e
}

func (p *pages) reason(r *run) string {
	if e := p.page(r.id).extras[chunkOf(r.id)]; e != nil {
		return e.reasons[r.id&(chunkRows-1)]
	}
	return ""
}

func (p *pages) setReason(r *run, reason string) {
	if reason != "" || p.page(r.id).extras[chunkOf(r.id)] != nil {
		p.extrasOf(r).reasons[r.id&(chunkRows-1)] = reason
	}
}

func (p *pages) noteEnd(r *run) {
	pg := p.page(r.id)
	pg.earliest = sooner(pg.earliest, r.finished)
}

// drop forgets a row.
func (p *pages) drop(r *run) {
	id := r.id
	pg, chunk := p.page(id), chunkOf(id)
	*r = run{}
	if e := pg.extras[chunk]; e != nil {
		e.rests[id&(chunkRows-1)], e.reasons[id&(chunkRows-1)] = nil, ""
	}
	if pg.left[chunk]--; pg.left[chunk] == 0 {
		pg.chunks[chunk], pg.extras[chunk] = nil, nil
	}
	if pg.n--; pg.n > 0 {
		return
	}
	p.list[id>>pageBits-p.base] = nil
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
			for i := (id - 1) & (pageRows - 1); i >= 0; i-- {
				chunk := p.list[at].chunks[i>>chunkBits]
				if chunk == nil {
					i &^= chunkRows - 1 // on to the chunk before
					continue
				}
				if r := &chunk[i&(chunkRows-1)]; r.id != 0 && !visit(r) {
					return
				}
			}
		}
		id = number << pageBits
	}
}
