package jobstoretest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ruqi-dev/ruqi"
)

var jobsRules = []rule{
	{name: "Jobs/filters", check: jobsFilters,
		law: "each field of a JobQuery selects jobs, and all that are given must hold"},
	{name: "Jobs/search", check: jobsSearch,
		law: "Search selects jobs whose id or name contains the text as it stands, letter case of ASCII ignored"},
	{name: "Jobs/sorts", check: jobsSorts,
		law: "Sort orders the jobs, smallest first, the newest first where it says so, ties by id, jobs without a next time last"},
	{name: "Jobs/pages", check: jobsPages,
		law: "a cursor goes on where its page ended, the last page has none, and Total counts all pages"},
	{name: "Jobs/page size", check: jobsPageSize,
		law: "a page has fifty jobs when Limit is 0, and never more than 1,000"},
	{name: "Jobs/bad cursor", check: jobsBadCursor,
		law: "a wrong cursor is an *InvalidError for /cursor"},
	{name: "Jobs/ids", check: jobsIDs,
		law: "ids are kept exactly: any script, letter case, trailing blanks, 255 characters that differ in the last"},
}

func jobsFilters(p *probe) {
	p.add(
		p.record("a", func(r *ruqi.JobRecord) { r.Name, r.Pool, r.Tags, r.Version = "one", "x", []string{"s", "t"}, 2 }),
		p.record("b", inState(ruqi.JobPaused), func(r *ruqi.JobRecord) { r.Name, r.Tags = "one", []string{"t"} }),
		p.record("c", inState(ruqi.JobFinished), func(r *ruqi.JobRecord) { r.Name, r.Tags = "One", []string{"T", "ss"} }),
		p.record("d", func(r *ruqi.JobRecord) { r.Pool, r.Version = "x", 2 }),
	)
	cases := []struct {
		what  string
		query ruqi.JobQuery
		want  string
	}{
		{"everything", ruqi.JobQuery{}, "abcd"},
		{"ids", ruqi.JobQuery{IDs: []string{"d", "none", "a"}}, "ad"},
		{"one tag", ruqi.JobQuery{Tags: []string{"t"}}, "ab"},
		{"two tags", ruqi.JobQuery{Tags: []string{"t", "s"}}, "a"},
		{"a tag nobody has", ruqi.JobQuery{Tags: []string{"t", "none"}}, ""},
		{"a name", ruqi.JobQuery{Name: "one"}, "ab"},
		{"a pool", ruqi.JobQuery{Pool: "x"}, "ad"},
		{"active", ruqi.JobQuery{State: ruqi.JobActive}, "ad"},
		{"paused", ruqi.JobQuery{State: ruqi.JobPaused}, "b"},
		{"finished", ruqi.JobQuery{State: ruqi.JobFinished}, "c"},
		{"a version", ruqi.JobQuery{Version: 2}, "ad"},
		{"ids and a name", ruqi.JobQuery{IDs: []string{"a", "d"}, Name: "one"}, "a"},
		{"a pool, a name and a tag", ruqi.JobQuery{Pool: "x", Name: "one", Tags: []string{"s"}}, "a"},
		{"a state and a pool nobody has together", ruqi.JobQuery{Pool: "x", State: ruqi.JobPaused}, ""},
	}
	for _, c := range cases {
		page, err := p.Jobs(p.ctx, c.query)
		p.must("jobs by "+c.what, err)
		equal(p, "jobs by "+c.what, strings.Join(ids(page.Jobs), ""), c.want)
		equal(p, "Total by "+c.what, page.Total, int64(len(c.want)))
	}
}

func jobsSearch(p *probe) {
	named := func(name string) func(*ruqi.JobRecord) { return func(r *ruqi.JobRecord) { r.Name = name } }
	p.add(
		p.record("backup/db1", named("Nightly")), p.record("100%", named("percent")), p.record("a_b", named("under")),
		p.record("axb", named("École")), p.record("日报", named("DAILY\\x")), p.record("q'\"", named("quote")),
	)
	for text, want := range map[string][]string{
		"BACKUP": {"backup/db1"}, "night": {"backup/db1"}, "%": {"100%"}, "_": {"a_b"}, "报": {"日报"},
		"cole": {"axb"}, "É": {"axb"}, "é": {}, "y\\X": {"日报"}, "'\"": {"q'\""}, "none": {}, "*": {},
	} {
		same(p, fmt.Sprintf("jobs by search %q", text), ids(p.list(ruqi.JobQuery{Search: text})), want)
	}
}

func jobsSorts(p *probe) {
	named := func(name string) func(*ruqi.JobRecord) { return func(r *ruqi.JobRecord) { r.Name = name } }
	p.add(p.record("c", named("x"), p.later(2*time.Hour)))
	p.clock.move(time.Second)
	p.add(p.record("a", named("z"), idle), p.record("e", named("y"), p.later(-time.Hour)))
	p.clock.move(time.Second)
	p.add(p.record("b", named("x"), p.later(-time.Hour-time.Second)), p.record("d", named("y"), inState(ruqi.JobPaused)))
	tie := p.job("b").NextDue
	p.set("e", func(r *ruqi.JobRecord) { r.NextDue = clonePtr(tie) })
	for sort, want := range map[ruqi.JobSort]string{"": "abcde", ruqi.SortID: "abcde", ruqi.SortNext: "becad", ruqi.SortName: "bcdea", ruqi.SortCreated: "caebd", ruqi.SortNewest: "bdaec"} {
		equal(p, fmt.Sprintf("jobs by sort %q", sort), strings.Join(ids(p.list(ruqi.JobQuery{Sort: sort})), ""), want)
		equal(p, fmt.Sprintf("jobs by sort %q, a page each", sort), strings.Join(p.pages(ruqi.JobQuery{Sort: sort, Limit: 1}, 5), ""), want)
	}
}

// pages reads a query to its end, and returns the ids.
func (p *probe) pages(query ruqi.JobQuery, total int64) []string {
	var all []string
	for range 1000 {
		page, err := p.Jobs(p.ctx, query)
		p.must("a page of jobs", err)
		equal(p, "Total", page.Total, total)
		if len(page.Jobs) > query.Limit {
			p.errorf("a page has %d jobs, the limit was %d", len(page.Jobs), query.Limit)
		}
		all = append(all, ids(page.Jobs)...)
		if query.Cursor = page.Next; page.Next == "" {
			return all
		}
	}
	p.fatalf("a thousand pages have no end")
	return nil
}

func jobsPages(p *probe) {
	var records []ruqi.JobRecord
	var want, tagged []string
	for i := range 10 {
		r := p.record(fmt.Sprint("job", i))
		want = append(want, r.ID)
		if i%2 == 0 {
			r.Tags = []string{"even"}
			tagged = append(tagged, r.ID)
		}
		records = append(records, r)
	}
	p.add(records...)
	same(p, "pages of three", p.pages(ruqi.JobQuery{Limit: 3}, 10), want)
	same(p, "pages of five", p.pages(ruqi.JobQuery{Limit: 5}, 10), want)
	same(p, "pages of two with a filter", p.pages(ruqi.JobQuery{Limit: 2, Tags: []string{"even"}}, 5), tagged)
	same(p, "pages of two by ids", p.pages(ruqi.JobQuery{Limit: 2, IDs: []string{"job5", "job1", "job3"}}, 3), []string{"job1", "job3", "job5"})
	page, err := p.Jobs(p.ctx, ruqi.JobQuery{Limit: 4})
	p.must("a page", err)
	p.remove(page.Jobs[3].ID)
	p.remove(page.Jobs[0].ID)
	p.addJob("a first one")
	page, err = p.Jobs(p.ctx, ruqi.JobQuery{Limit: 4, Cursor: page.Next})
	p.must("the page after the job at its end was removed", err)
	same(p, "the page after the job at its end was removed", ids(page.Jobs), want[4:8])
}

func jobsPageSize(p *probe) {
	var records []ruqi.JobRecord
	for i := range ruqi.MaxPage + 1 {
		records = append(records, p.record(fmt.Sprintf("job%04d", i), idle))
	}
	p.add(records...)
	for limit, want := range map[int]int{0: ruqi.DefaultPage, ruqi.MaxPage: ruqi.MaxPage} {
		page, err := p.Jobs(p.ctx, ruqi.JobQuery{Limit: limit})
		p.must("jobs", err)
		equal(p, fmt.Sprintf("the length of a page with Limit %d", limit), len(page.Jobs), want)
		equal(p, "there is a page after it", page.Next != "", true)
		equal(p, "Total", page.Total, ruqi.MaxPage+1)
	}
	if page, err := p.Jobs(p.ctx, ruqi.JobQuery{Limit: 5 * ruqi.MaxPage}); err == nil && len(page.Jobs) > ruqi.MaxPage {
		p.errorf("a page has %d jobs", len(page.Jobs))
	}
}

func jobsBadCursor(p *probe) {
	p.add(p.record("a"), p.record("b"))
	for _, cursor := range []string{"x", "-", "???", "bm9uc2Vuc2U", "日本", "1 2"} {
		_, err := p.Jobs(p.ctx, ruqi.JobQuery{Cursor: cursor})
		p.wantInvalid(fmt.Sprintf("Jobs with cursor %q", cursor), err, "/cursor")
	}
}

func jobsIDs(p *probe) {
	long := strings.Repeat("日", 254)
	list := []string{
		long + "x", long + "y", long + "Y", "job", "JOB", "Job", "job ", "jöb", "jo\u0308b", "ß", "ss", "🙂", "a/b/../c", "%2F", "0", "00", "-1", "NULL", "'; --",
	}
	slices.Sort(list)
	owner := p.owner("a")
	var records []ruqi.JobRecord
	for i, id := range list {
		records = append(records, p.record(id, func(r *ruqi.JobRecord) { r.Version = int64(i + 1) }))
	}
	p.add(records...)
	same(p, "jobs by id, in the order of bytes", ids(p.list(ruqi.JobQuery{})), list)
	same(p, "one page each", p.pages(ruqi.JobQuery{Limit: 1}, int64(len(list))), list)
	for i, id := range list {
		equal(p, fmt.Sprintf("the version of job %q", id), p.job(id).Version, int64(i+1))
	}
	c := p.claim(request(owner), once)
	equal(p, "the number of runs started", len(c.Runs), len(list))
	for _, id := range list {
		runs := p.runs(ruqi.RunQuery{Job: id})
		if len(runs) != 1 || runs[0].JobID != id {
			p.errorf("job %q has %d rows, want its own alone", id, len(runs))
		}
	}
	p.remove(long + "x")
	equal(p, "the job that differs in the last character alone is there", p.hasJob(long+"y"), true)
}
