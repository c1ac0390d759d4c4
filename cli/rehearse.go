package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/client"
)

// rehearseAll is addInBatches for what is only tried: the service says what would become of each, and changes nothing. before are the jobs
// that were there.
func rehearseAll(ctx context.Context, c *client.Client, definitions []json.RawMessage, onConflict func(i int) ruqi.OnConflict, before func(i int) ruqi.Job) ([]outcome, error) {
	outcomes := make([]outcome, len(definitions))
	var mu sync.Mutex // guards failed
	var failed error
	inParallel(ctx, len(definitions), func(i int) bool {
		job, added, err := c.RehearseDefinition(ctx, definitions[i], onConflict(i))
		switch {
		case err == nil:
			outcomes[i] = outcome{job: job, how: howAdded(ruqi.Addition{Added: added, Changed: job.Version != before(i).Version})}
			return true
		case errors.Is(err, ruqi.ErrInvalid) || errors.Is(err, ruqi.ErrExists):
			outcomes[i] = outcome{fault: err}
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		failed = err
		return false
	})
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	return outcomes, failed
}

// notAsked reports whether there is no service that could be asked: none that answers, or none that answers this user.
func notAsked(err error) bool {
	return errors.Is(err, client.ErrUnreachable) || errors.Is(err, client.ErrDenied)
}

// sayNotAsked tells of a dry run what it could not know.
func (a *app) sayNotAsked(err error) {
	text, _, _ := strings.Cut(err.Error(), "\n")
	a.say("the service was not asked, so which jobs it has, and which it would refuse, is not known: %s", text)
}

// sayRehearsed tells what the service would do, and returns the counts.
func (a *app) sayRehearsed(outcomes []outcome) (counts string) {
	n := map[string]int{}
	for _, o := range outcomes {
		if n[o.how]++; o.how == "created" || o.how == "changed" {
			a.say("%s: would be %s", o.job.ID, o.how)
		}
	}
	return fmt.Sprintf("%d to create, %d to change, %d unchanged", n["created"], n["changed"], n["unchanged"])
}
