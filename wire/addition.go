package wire

import "github.com/ruqi-dev/ruqi"

// An Addition is what became of one of many jobs that were added.
type Addition struct {
	Added   ruqi.Added `json:"added,omitempty" enum:"created,kept,replaced" doc:"What happened; left out where there is a problem."`
	Changed bool       `json:"changed" doc:"Whether something was written: not so for a job that was kept, or replaced by an equal one."`
	Job     *Job       `json:"job,omitempty" doc:"The job as it now is; left out where there is a problem."`
	Problem *Problem   `json:"problem,omitempty" doc:"Why it was not added: what adding it alone would have answered."`
}

// Additions are what became of many jobs, in their order.
type Additions struct {
	Items []Addition `json:"items"`
}

// Addition returns the library's.
func (a Addition) Addition(registry *ruqi.Registry) (ruqi.Addition, error) {
	if a.Problem != nil {
		return ruqi.Addition{Err: a.Problem.Err()}, nil
	}
	out := ruqi.Addition{Added: a.Added, Changed: a.Changed}
	var err error
	if a.Job != nil {
		out.Job, err = a.Job.Job(registry)
	}
	return out, err
}
