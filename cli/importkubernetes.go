package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

// cronJobLabel is the label that says which CronJob a job came from, as kubernetes.Job.Source has it.
const cronJobLabel = "kubernetes.cronjob"

// labelled is the job with that label.
func labelled(job kubernetes.Job) kubernetes.Job {
	labels := map[string]string{cronJobLabel: job.Source}
	if given, ok := job.Definition["labels"].(map[string]string); ok {
		labels = maps.Clone(given)
		labels[cronJobLabel] = job.Source
	}
	job.Definition["labels"] = labels
	return job
}

// cronJobs are CronJobs on their way to a service.
type cronJobs struct {
	*app
	jobs []kubernetes.Job
	// outcomes are those of jobs; nil while the service has not been asked.
	outcomes []outcome
	refused  int
	told     []string
}

// add adds the jobs, or asks the service what adding them would do. CronJobs that would take the place of other jobs are left out.
func (m *cronJobs) add(ctx context.Context, dryRun bool) error {
	if len(m.jobs) == 0 {
		return nil
	}
	c, err := m.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	there, err := m.sift(ctx, c)
	if err != nil {
		return err
	}
	definitions, err := m.definitions()
	if err != nil {
		return err
	}
	before := func(i int) ruqi.Job {
		if job := there[m.id(i)]; job != nil {
			return *job
		}
		return ruqi.Job{}
	}
	onConflict := func(i int) ruqi.OnConflict {
		if there[m.id(i)] != nil {
			return ruqi.Replace // only what came from the same CronJob is
		}
		return ruqi.Fail
	}
	if dryRun {
		m.outcomes, err = rehearseAll(ctx, c, definitions, onConflict, before)
	} else {
		m.outcomes, err = addInBatches(ctx, c, definitions, onConflict)
	}
	return err
}

func (m *cronJobs) id(i int) string { return m.jobs[i].Definition["id"].(string) }

// definitions are the jobs in JSON.
func (m *cronJobs) definitions() (all []json.RawMessage, err error) {
	all = make([]json.RawMessage, len(m.jobs))
	for i, job := range m.jobs {
		if all[i], err = encode(job.Definition); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sift leaves out the CronJobs whose ids other jobs have, and returns the jobs that came from the rest.
func (m *cronJobs) sift(ctx context.Context, c *client.Client) (map[string]*ruqi.Job, error) {
	ids := make([]string, len(m.jobs))
	for i := range m.jobs {
		ids[i] = m.id(i)
	}
	there, err := storedJobs(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	var rest []kubernetes.Job
	for _, job := range m.jobs {
		why := ""
		if old := there[job.Definition["id"].(string)]; old != nil {
			if why, err = otherJob(ctx, c, job, old); err != nil {
				return nil, err
			}
		}
		if why != "" {
			m.refuse(job, why)
			continue
		}
		rest = append(rest, job)
	}
	m.jobs = rest
	return there, nil
}

// otherJob says why a job that is there is not the CronJob's; empty: it is. One without the label may be from a release that gave none: it is
// the CronJob's if it differs in nothing else.
func otherJob(ctx context.Context, c *client.Client, job kubernetes.Job, old *ruqi.Job) (why string, err error) {
	switch from := old.Labels[cronJobLabel]; {
	case old.Labels[setLabel] != "":
		return fmt.Sprintf("its id is taken by a job of the set %q of job files; --prefix gives another", old.Labels[setLabel]), nil
	case from == job.Source:
		return "", nil
	case from != "":
		return fmt.Sprintf("its id is taken by a job that came from the CronJob %s; --prefix gives another", from), nil
	}
	definition, labels := maps.Clone(job.Definition), maps.Clone(job.Definition["labels"].(map[string]string))
	delete(labels, cronJobLabel)
	definition["labels"] = labels
	text, err := encode(definition)
	if err != nil {
		return "", err
	}
	same, _, err := c.RehearseDefinition(ctx, text, ruqi.Replace)
	switch {
	case err == nil && same.Version == old.Version:
		return "", nil
	case err != nil && !errors.Is(err, ruqi.ErrInvalid):
		return "", err
	}
	return noCronJob, nil
}

const noCronJob = "its id is taken by a job that came from no CronJob; --prefix gives another"

func (m *cronJobs) refuse(job kubernetes.Job, why string) {
	m.told = append(m.told, fmt.Sprintf("%s: CronJob %s: %s", job.Where, job.Definition["id"], why))
	m.refused++
}

// tried reads the definitions as the service would: what is wrong with each is its outcome. It is for want of a service.
func (m *cronJobs) tried() []outcome {
	registry := standard.Registry(standard.Options{})
	outcomes := make([]outcome, len(m.jobs))
	for i, job := range m.jobs {
		text, err := encode(job.Definition)
		if err == nil {
			_, err = wire.DecodeNew(registry, text)
		}
		if outcomes[i].fault = err; err == nil {
			outcomes[i].how = "created"
		}
	}
	return outcomes
}

// wrongWith tells what a registry finds wrong with what there is of a definition.
func wrongWith(registry *ruqi.Registry) func(definition map[string]any) []ruqi.Fault {
	return func(definition map[string]any) []ruqi.Fault {
		definition = maps.Clone(definition)
		delete(definition, "state") // which the library does not know
		text, err := encode(definition)
		if err == nil {
			_, err = registry.DecodeJob(text)
		}
		var invalid *ruqi.InvalidError
		if !errors.As(err, &invalid) {
			return nil
		}
		return invalid.Faults
	}
}

// judge notes what is wrong with the jobs that were not taken, and returns the definitions of the others, and what they have become.
func (m *cronJobs) judge() (in []map[string]any, done []ruqi.Job) {
	for i, o := range m.outcomes {
		var invalid *ruqi.InvalidError
		switch {
		case errors.As(o.fault, &invalid):
			for _, f := range invalid.Faults {
				m.told = append(m.told, m.jobs[i].Fault(f))
			}
			m.refused++
		case errors.Is(o.fault, ruqi.ErrExists):
			m.refuse(m.jobs[i], noCronJob) // it has come since the jobs were looked at
		case o.how != "":
			in, done = append(in, m.jobs[i].Definition), append(done, o.job)
		}
	}
	return in, done
}

// hows says of each job that was taken how.
func (m *cronJobs) hows() (all []string) {
	for _, o := range m.outcomes {
		if o.how != "" {
			all = append(all, o.how)
		}
	}
	return all
}
