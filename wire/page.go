package wire

import "github.com/ruqi-dev/ruqi"

// A Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// NextCursor fetches the page after; null on the last.
	NextCursor *string `json:"next_cursor" doc:"Pass it as cursor to get the page after; null on the last."`
	// Total counts what the query selects over all pages; null where that is not counted.
	Total *int64 `json:"total" doc:"How many the query selects over all pages; null where that is not counted."`
}

// FromJobPage returns the page's shape.
func FromJobPage(page ruqi.JobPage) (Page[Job], error) {
	shape := Page[Job]{Items: make([]Job, 0, len(page.Jobs)), NextCursor: cursor(page.Next), Total: &page.Total}
	for _, job := range page.Jobs {
		item, err := FromJob(job)
		if err != nil {
			return Page[Job]{}, err
		}
		shape.Items = append(shape.Items, item)
	}
	return shape, nil
}

// FromRunPage returns the page's shape.
func FromRunPage(page ruqi.RunPage) Page[Run] {
	shape := Page[Run]{Items: make([]Run, 0, len(page.Runs)), NextCursor: cursor(page.Next), Total: page.Total}
	for _, run := range page.Runs {
		shape.Items = append(shape.Items, FromRun(run))
	}
	return shape
}

func cursor(next string) *string {
	if next == "" {
		return nil
	}
	return &next
}
