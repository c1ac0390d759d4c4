package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/jobstore/internal/sqlstore"
)

// A jobOrder is one order of jobs: the term that goes on behind a cursor, and the ORDER BY.
type jobOrder struct {
	by     string
	after  func(*filter, sqlstore.Cursor)
	cursor func(*ruqi.JobRecord) sqlstore.Cursor
}

var jobOrders = map[ruqi.JobSort]jobOrder{
	ruqi.SortID: {
		by:     "d.id",
		after:  func(f *filter, c sqlstore.Cursor) { f.add("d.id > " + f.value(c.ID)) },
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor { return sqlstore.Cursor{ID: j.ID} },
	},
	// No index serves this order: it would have to be written with each fire. The
	// narrow table is sorted, of which only a page is kept.
	ruqi.SortNext: {
		by: "j.next_due NULLS LAST, j.id",
		after: func(f *filter, c sqlstore.Cursor) {
			id := f.value(c.ID)
			if c.None {
				f.add("j.next_due IS NULL AND j.id > " + id)
				return
			}
			due := f.value(sqlstore.Time(c.Number))
			f.add("(j.next_due IS NULL OR (j.next_due, j.id) > (" + due + ", " + id + "))")
		},
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor {
			c := sqlstore.Cursor{ID: j.ID, None: j.NextDue == nil}
			if j.NextDue != nil {
				c.Number = sqlstore.Micros(*j.NextDue)
			}
			return c
		},
	},
	ruqi.SortName: {
		by: "d.name, d.id",
		after: func(f *filter, c sqlstore.Cursor) {
			f.add("(d.name, d.id) > (" + f.value(c.Text) + ", " + f.value(c.ID) + ")")
		},
		cursor: func(j *ruqi.JobRecord) sqlstore.Cursor { return sqlstore.Cursor{Text: j.Name, ID: j.ID} },
	},
	ruqi.SortCreated: {
		by: "d.created, d.id",
		after: func(f *filter, c sqlstore.Cursor) {
			f.add("(d.created, d.id) > (" + f.value(sqlstore.Time(c.Number)) + ", " + f.value(c.ID) + ")")
		},
		cursor: createdCursor,
	},
	ruqi.SortNewest: {
		by: "d.created DESC, d.id",
		after: func(f *filter, c sqlstore.Cursor) {
			created, id := f.value(sqlstore.Time(c.Number)), f.value(c.ID)
			f.add("d.created <= " + created + " AND (d.created < " + created + " OR d.id > " + id + ")")
		},
		cursor: createdCursor,
	},
}

func createdCursor(j *ruqi.JobRecord) sqlstore.Cursor {
	return sqlstore.Cursor{Number: sqlstore.Micros(j.Created), ID: j.ID}
}

const fromJobs = ` FROM rq_definition d JOIN rq_job j ON j.seq = d.seq`

// farOffset is the farOffset of a store: what is passed over up to there costs less than a round trip.
const farOffset = 5000

// backwards turns an ORDER BY of plain columns around.
func backwards(by string) string {
	columns := strings.Split(by, ", ")
	for i, column := range columns {
		if up, down := strings.CutSuffix(column, " DESC"); down {
			columns[i] = up
		} else {
			columns[i] = column + " DESC"
		}
	}
	return strings.Join(columns, ", ")
}

// passesOver reports whether what is passed over is passed over in an index alone.
func passesOver(query ruqi.JobQuery, total *filter) bool {
	return len(total.terms) == 0 && query.Offset > 0 && query.Sort != ruqi.SortNext
}

// jobsQuery builds the query of a page, and the filter of its total.
func jobsQuery(query ruqi.JobQuery, rows sqlstore.Span) (page string, pageArgs []any, total filter, order jobOrder, err error) {
	sort := query.Sort
	if sort == "" {
		sort = ruqi.SortID
	}
	order, ok := jobOrders[sort]
	if !ok {
		return "", nil, total, order, ruqi.Invalid("/sort", string(sort), "jobs are sorted by id, next, name, created or newest")
	}
	if err := ruqi.CheckOffset(query.Offset, query.Cursor); err != nil {
		return "", nil, total, order, err
	}
	if len(query.IDs) > 0 {
		total.add("d.id = ANY (" + total.value(query.IDs) + "::text[])")
	}
	if err := total.jobs(query); err != nil {
		return "", nil, total, order, err
	}
	paged := total.clone()
	if query.Cursor != "" {
		cursor, err := sqlstore.ParseCursor(query.Cursor, string(sort))
		if err != nil {
			return "", nil, total, order, err
		}
		order.after(&paged, cursor)
	}
	most := " LIMIT " + paged.value(rows.Limit)
	if query.Offset > 0 {
		most += " OFFSET " + paged.value(rows.Offset)
	}
	from := fromJobs
	if passesOver(query, &total) {
		by := order.by
		if rows.Back {
			by = backwards(by)
		}
		from = " FROM (SELECT d.seq FROM rq_definition d ORDER BY " + by + most + ") p JOIN rq_definition d ON d.seq = p.seq JOIN rq_job j ON j.seq = p.seq"
		most = ""
	}
	page = "SELECT " + jobColumns + from + paged.where() + " ORDER BY " + order.by + most
	return page, paged.args, total, order, nil
}

// Jobs returns one page of jobs.
func (s *Store) Jobs(ctx context.Context, query ruqi.JobQuery) (ruqi.JobRecordPage, error) {
	size := sqlstore.PageSize(query.Limit)
	rows := sqlstore.Span{Limit: size + 1, Offset: query.Offset}
	sql, args, total, order, err := jobsQuery(query, rows)
	if err != nil {
		return ruqi.JobRecordPage{}, err
	}
	var page ruqi.JobRecordPage
	fill := func(b *pgx.Batch) {
		page.Jobs = nil
		queue(b, sql, args, func(rows pgx.Rows) error {
			j, err := scanJob(rows)
			page.Jobs = append(page.Jobs, j.JobRecord)
			return err
		})
	}
	count := func(b *pgx.Batch) {
		sql := "SELECT count(*)" + fromJobs + total.where()
		if len(total.terms) == 0 {
			sql = "SELECT count(*) FROM rq_definition"
		}
		b.Queue(sql, total.args...).QueryRow(func(row pgx.Row) error { return row.Scan(&page.Total) })
	}
	if query.Offset >= s.farOffset && passesOver(query, &total) {
		err = s.readingAfter(ctx, count, func(b *pgx.Batch) {
			sql, args, _, _, _ = jobsQuery(query, rows.Of(page.Total)) // it has been built before
			fill(b)
		})
	} else {
		err = s.reading(ctx, func(b *pgx.Batch) {
			fill(b)
			count(b)
		})
	}
	err = s.translate(ctx, "jobs", err)
	if err != nil {
		return ruqi.JobRecordPage{}, err
	}
	if len(page.Jobs) > size {
		page.Jobs = page.Jobs[:size]
		cursor := order.cursor(&page.Jobs[size-1])
		cursor.Sort = string(query.Sort)
		if cursor.Sort == "" {
			cursor.Sort = string(ruqi.SortID)
		}
		page.Next = cursor.String()
	}
	return page, nil
}

const (
	sqlCountStates  = `SELECT state, count(*) FROM rq_job GROUP BY state`
	sqlCountNeeds   = `SELECT pool, needs, count(*) FROM rq_job WHERE state <> 2 GROUP BY pool, needs`
	sqlCountRunning = `SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 0) FROM rq_run WHERE state < 2`
)

// Count tells how much there is. It reads the narrow table of jobs as a whole:
// tens of milliseconds for 100,000 of them.
func (s *Store) Count(ctx context.Context) (ruqi.Counts, error) {
	var counts ruqi.Counts
	err := s.read(ctx, "count", func(b *pgx.Batch) {
		counts = ruqi.Counts{Jobs: map[ruqi.JobState]int64{}, Needs: map[ruqi.PoolNeed]int64{}}
		queue(b, sqlCountStates, nil, func(rows pgx.Rows) error {
			var state int16
			var n int64
			err := rows.Scan(&state, &n)
			counts.Jobs[sqlstore.JobState(int64(state))] = n
			return err
		})
		queue(b, sqlCountNeeds, nil, func(rows pgx.Rows) error {
			var need ruqi.PoolNeed
			var n int64
			err := rows.Scan(&need.Pool, &need.Need, &n)
			counts.Needs[need] = n
			return err
		})
		queue(b, sqlCountRunning, nil, func(rows pgx.Rows) error { return rows.Scan(&counts.Running, &counts.Queued) })
	})
	if err != nil {
		return ruqi.Counts{}, err
	}
	return counts, nil
}
