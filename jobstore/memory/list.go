package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ruqi-dev/ruqi"
)

func pageSize(limit int) int {
	if limit <= 0 {
		return ruqi.DefaultPage
	}
	return min(limit, ruqi.MaxPage)
}

// A bookmark is a cursor of Jobs, opened: the sort key and id of the last job of a page.
type bookmark struct {
	Sort ruqi.JobSort
	Time int64
	Text string
	ID   string
}

func (b bookmark) String() string {
	data, _ := json.Marshal(b) // strings and a number
	return base64.RawURLEncoding.EncodeToString(data)
}

func openBookmark(cursor string, sort ruqi.JobSort) (b bookmark, err error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil || b.Sort != sort {
		return b, ruqi.Invalid("/cursor", cursor, "not a cursor of this list")
	}
	return b, nil
}

// key is where the job stands in a list of that order.
func (j *job) key(sort ruqi.JobSort) bookmark {
	b := bookmark{Sort: sort, ID: j.id}
	switch sort {
	case ruqi.SortNext:
		if b.Time = j.due; j.due == never {
			b.Time = 1<<63 - 1 // last
		}
	case ruqi.SortName:
		b.Text = j.name
	case ruqi.SortCreated:
		b.Time = j.created
	case ruqi.SortNewest:
		b.Time = -j.created
	}
	return b
}

func (b bookmark) compare(other bookmark) int {
	return cmp.Or(cmp.Compare(b.Time, other.Time), strings.Compare(b.Text, other.Text), strings.Compare(b.ID, other.ID))
}

// Jobs returns one page of jobs, as ruqi.JobStore says.
func (s *Store) Jobs(ctx context.Context, query ruqi.JobQuery) (ruqi.JobRecordPage, error) {
	if _, err := s.begin(ctx); err != nil {
		return ruqi.JobRecordPage{}, err
	}
	defer s.mu.Unlock()
	if query.Sort == "" {
		query.Sort = ruqi.SortID
	}
	switch query.Sort {
	case ruqi.SortID, ruqi.SortNext, ruqi.SortName, ruqi.SortCreated, ruqi.SortNewest:
	default:
		return ruqi.JobRecordPage{}, ruqi.Invalid("/sort", string(query.Sort), "jobs are sorted by id, next, name, created or newest")
	}
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return ruqi.JobRecordPage{}, err
	}
	after, err := bookmark{}, error(nil)
	if query.Cursor != "" {
		if after, err = openBookmark(query.Cursor, query.Sort); err != nil {
			return ruqi.JobRecordPage{}, err
		}
	}
	limit := pageSize(query.Limit)
	passed := min(query.Offset, len(s.jobs))
	jobs, total := s.selectJobs(&query, after, passed+limit+1)
	jobs = jobs[min(passed, len(jobs)):]
	page := ruqi.JobRecordPage{Total: total}
	if len(jobs) > limit {
		jobs = jobs[:limit]
		page.Next = jobs[limit-1].key(query.Sort).String()
	}
	page.Jobs = make([]ruqi.JobRecord, len(jobs))
	for i, j := range jobs {
		j.record(&page.Jobs[i], nil)
	}
	return page, nil
}

// selectJobs returns the first few jobs after the bookmark, and how many there are in all.
func (s *Store) selectJobs(query *ruqi.JobQuery, after bookmark, few int) (jobs []*job, total int64) {
	lowered := lowerASCII(query.Search)
	compare := func(a, b *job) int { return a.key(query.Sort).compare(b.key(query.Sort)) }
	var last *job // of the first few so far: what comes after it is in no page
	pick := func(j *job) {
		if query.Cursor != "" && j.key(query.Sort).compare(after) <= 0 || last != nil && compare(j, last) > 0 {
			return
		}
		if jobs = append(jobs, j); len(jobs) >= 4*few {
			// Enough to sort and keep the first: the list stays short however many match.
			slices.SortFunc(jobs, compare)
			jobs = jobs[:few]
			last = jobs[few-1]
		}
	}
	all := query.Name == "" && query.Pool == "" && query.State == "" && query.Version == 0 && query.Search == "" && len(query.Tags) == 0 && !query.OnStart
	switch {
	case len(query.IDs) > 0:
		ids := slices.Compact(slices.Sorted(slices.Values(query.IDs)))
		for _, id := range ids {
			if j := s.jobs[id]; j != nil && matches(query, lowered, j) {
				total++
				pick(j)
			}
		}
	case all && query.Sort == ruqi.SortID:
		list := s.order.byID()
		for _, j := range list[searchID(list, after.ID):] {
			if len(jobs) == few {
				break
			}
			if !j.gone && (query.Cursor == "" || j.id > after.ID) {
				jobs = append(jobs, j)
			}
		}
		return jobs, int64(len(s.jobs))
	default:
		for _, j := range s.order.byID() {
			if !j.gone && matches(query, lowered, j) {
				total++
				pick(j)
			}
		}
	}
	slices.SortFunc(jobs, compare)
	return jobs[:min(few, len(jobs))], total
}

// Runs returns one page of runs, newest first, as ruqi.JobStore says.
func (s *Store) Runs(ctx context.Context, query ruqi.RunQuery) (ruqi.RunPage, error) {
	if _, err := s.begin(ctx); err != nil {
		return ruqi.RunPage{}, err
	}
	defer s.mu.Unlock()
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return ruqi.RunPage{}, err
	}
	before := s.rows.last + 1
	if query.Cursor != "" {
		id, err := strconv.ParseInt(query.Cursor, 10, 64)
		if err != nil || id < 1 {
			return ruqi.RunPage{}, ruqi.Invalid("/cursor", query.Cursor, "not a cursor of this list")
		}
		before = id
	}
	limit, passed := pageSize(query.Limit), query.Offset
	var rows []*run
	s.visitRuns(&query, before, func(r *run) bool {
		switch {
		case !s.matchesRun(&query, r):
		case passed > 0:
			passed--
		default:
			rows = append(rows, r)
		}
		return len(rows) <= limit
	})
	page := ruqi.RunPage{Total: s.total(&query)}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = strconv.FormatInt(rows[limit-1].id, 10)
	}
	page.Runs = s.views(rows)
	return page, nil
}

// visitRuns calls visit with the rows among which all that the query selects are,
// newest first, by the shortest way there is.
func (s *Store) visitRuns(query *ruqi.RunQuery, before int64, visit func(*run) bool) {
	var rows []*run
	switch {
	case len(query.IDs) > 0:
		for _, id := range slices.Compact(slices.Sorted(slices.Values(query.IDs))) {
			if r := s.rows.find(id); r != nil {
				rows = append(rows, r)
			}
		}
	case query.Job != "":
		if h := s.history(query.Job); h != nil {
			end, _ := slices.BinarySearch(h.runs, before)
			for i := end - 1; i >= 0; i-- {
				if !visit(s.rows.find(h.runs[i])) {
					return
				}
			}
		}
		return
	case len(query.States) > 0 && !slices.ContainsFunc(query.States, ruqi.RunState.Ended):
		rows = s.aliveRuns(query.States)
	default:
		s.rows.before(before, visit)
		return
	}
	end, _ := slices.BinarySearchFunc(rows, before, func(r *run, id int64) int { return cmp.Compare(r.id, id) })
	for i := end - 1; i >= 0; i-- {
		if !visit(rows[i]) {
			return
		}
	}
}

// aliveRuns returns the rows of these states, which are alive, by id.
func (s *Store) aliveRuns(states []ruqi.RunState) []*run {
	var rows []*run
	if slices.Contains(states, ruqi.RunQueued) {
		for h := range s.waiting {
			rows = append(rows, h.queued...)
		}
	}
	if slices.Contains(states, ruqi.RunRunning) {
		for _, l := range s.lives {
			rows = append(rows, l.running...)
		}
	}
	slices.SortFunc(rows, func(a, b *run) int { return cmp.Compare(a.id, b.id) })
	return rows
}

func (s *Store) matchesRun(q *ruqi.RunQuery, r *run) bool {
	return (len(q.IDs) == 0 || slices.Contains(q.IDs, r.id)) &&
		(q.Job == "" || s.historyAt(r).id == q.Job) &&
		(q.Name == "" || s.historyAt(r).whats[r.what].name == q.Name) &&
		(len(q.States) == 0 || slices.Contains(q.States, r.state.word())) &&
		(!q.Executed || r.executed()) &&
		(len(q.Causes) == 0 || slices.Contains(q.Causes, s.causes[r.cause])) &&
		(q.From == nil || !timeOf(r.nominal).Before(*q.From)) &&
		(q.To == nil || timeOf(r.nominal).Before(*q.To))
}
