package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/cli/crontab"
	"github.com/ruqi-dev/ruqi/client"
	"github.com/ruqi-dev/ruqi/internal/duration"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

// crontabFlags are what was asked of an import.
type crontabFlags struct {
	user, zone, overlap, prefix, dialect string
	userGiven, system, systemGiven       bool
	catchUp, dryRun, takeOver            bool
}

func (a *app) importCrontabCommand() *cobra.Command {
	f := &crontabFlags{}
	cmd := &cobra.Command{
		Use:   "crontab FILE…",
		Short: "Take over the lines of crontabs",
		Long: "Makes a job of each line in the files (- for standard input; of a folder all tables whose names cron would read): its times, its command with the\n" +
			"variables of the lines above it, and what stands behind a % as its input. What means something else here is named, and so is each line that cannot be\n" +
			"taken, as FILE:LINE; the others are added, and the exit status is then 1. A job of the same id from the same table is replaced, so that importing\n" +
			"twice changes nothing; a table with ids of jobs that came from another file is refused. Lines of /etc/crontab and of the files in a folder cron.d name their user, elsewhere with --system.",
		Example: "  crontab -l | ruqi import crontab -\n  ruqi import crontab /etc/crontab /etc/cron.d --dry-run\n" +
			"  ruqi import crontab web1/crontab --system --prefix web1/ --tz Europe/Berlin",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s wants at least one file, or - for standard input", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.userGiven, f.systemGiven = cmd.Flags().Changed("user"), cmd.Flags().Changed("system")
			return a.importCrontabs(cmd.Context(), files, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "`name` of the user whose jobs they are, whatever their lines say; '' for the service's own")
	flags.BoolVar(&f.system, "system", false, "the sixth word of a line is its user (default: for /etc/crontab and in folders cron.d); --system=false: it never is")
	flags.StringVar(&f.zone, "tz", "", "`zone` of lines that no CRON_TZ or TZ covers, an IANA name (default: the service's)")
	flags.BoolVar(&f.catchUp, "catch-up", false, "fires that come late run, too; cron forgets those that it was not there for")
	flags.StringVar(&f.overlap, "overlap", "allow", "`what` a fire does while the run before goes on: allow, as in cron, or skip")
	flags.StringVar(&f.prefix, "prefix", "", "`text` in front of the jobs' ids, such as web1/")
	flags.StringVar(&f.dialect, "dialect", "crontab", "`dialect` of the five fields: crontab, or ruqi for tables of APScheduler, where weekday 0 is Monday and both day fields must match")
	flags.BoolVar(&f.takeOver, "take-over", false, "take jobs that came from another file of the same name")
	flags.BoolVar(&f.dryRun, "dry-run", false, "add nothing; write what would be added as a job file, and say what the service would make of it")
	return cmd
}

func (f *crontabFlags) check() error {
	if f.zone != "" {
		if _, err := zoneFlag(f.zone); err != nil {
			return usage("--tz: %v", err)
		}
	}
	if f.overlap != string(ruqi.OverlapAllow) && f.overlap != string(ruqi.OverlapSkip) {
		return usage("--overlap: %q is unknown; %s", f.overlap, wire.Instead(f.overlap, ruqi.OverlapAllow, ruqi.OverlapSkip))
	}
	if f.dialect != "crontab" && f.dialect != "ruqi" {
		return usage("--dialect: %q is unknown; %s", f.dialect, wire.Instead(f.dialect, "crontab", "ruqi"))
	}
	return nil
}

// A lineJob is a job and its place.
type lineJob struct {
	crontab.Job
	where string
	table *crontabFile
	// zone is, in words, where the times of a job are that is not Zoned; empty while that is the service's to say.
	zone string
}

// pathLabel is the label that says which file a job came from, as crontabFile.from has it: files in several places have one name.
const pathLabel = "crontab.path"

func (a *app) importCrontabs(ctx context.Context, names []string, f *crontabFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	tables, unread, err := a.findCrontabs(names, f)
	if err != nil {
		return err
	}
	refused := unread
	var all []lineJob
	places := map[string]string{}
	home, known := a.homes(), isUser()
	for i := range tables {
		t := &tables[i]
		data, err := a.readInput(t.name())
		if err != nil && t.listed {
			a.say("%v", err)
			refused++
			continue
		}
		if err != nil {
			return err
		}
		o := crontab.Options{
			Source: t.source, Prefix: f.prefix, System: t.system, Zone: f.zone, CatchUp: f.catchUp, Overlap: f.overlap, Dialect: f.dialect,
			IsUser: known, Home: home, UsersTable: !t.system && (t.user != "" || f.systemGiven || f.userGiven),
		}
		if t.user != "" {
			o.User = &t.user
		}
		if f.userGiven {
			o.User = &f.user
		}
		r := crontab.Read(data, o)
		for _, n := range r.Notes {
			a.say("%s:%d: %s", t.shown, n.Line, n.Text)
		}
		for _, fault := range r.Faults {
			a.say("%s:%d: %s", t.shown, fault.Line, fault.Text)
		}
		refused += len(r.Faults)
		for _, job := range r.Jobs {
			where := fmt.Sprintf("%s:%d", t.shown, job.Line)
			if other, taken := places[job.ID]; taken {
				a.say("%s: its id %s is that of %s; import one of the files apart, with another --prefix", where, job.ID, other)
				refused++
				continue
			}
			places[job.ID] = where
			if labels, ok := job.Definition["labels"].(map[string]string); ok {
				labels[pathLabel] = t.from
			}
			all = append(all, lineJob{Job: job, where: where, table: t})
		}
	}
	return a.addLines(ctx, all, tables, refused, f)
}

// tryLines writes what would be added as a job file, for want of a service that could be asked: unasked says why.
func (a *app) tryLines(all []lineJob, refused int, f *crontabFlags, unasked error) error {
	registry := standard.Registry(standard.Options{})
	var good []lineJob
	for _, job := range all {
		text, err := encode(job.Definition)
		if err != nil {
			return err
		}
		var invalid *ruqi.InvalidError
		if _, err := wire.DecodeNew(registry, text); errors.As(err, &invalid) {
			a.sayFaults(job, invalid)
			refused++
			continue
		}
		good = append(good, job)
	}
	if err := a.printLines(good); err != nil {
		return err
	}
	a.say("%s would be added; %s", count(len(good), "job"), notTaken(refused, "line"))
	a.sayNotAsked(unasked)
	tellPolicies(a.say, good, f)
	if refused > 0 {
		return errNotAll
	}
	return nil
}

// printLines writes the jobs as a job file.
func (a *app) printLines(jobs []lineJob) error {
	for i, job := range jobs {
		if err := a.printDocument(job.Definition, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) sayFaults(job lineJob, invalid *ruqi.InvalidError) {
	for _, fault := range invalid.Faults {
		a.say("%s: %s", job.where, label(strings.ReplaceAll(strings.TrimPrefix(fault.Pointer, "/"), "/", "."), fault.Message))
	}
}

// addLines adds the jobs, or asks the service what adding them would do, and tells of it.
func (a *app) addLines(ctx context.Context, all []lineJob, tables []crontabFile, refused int, f *crontabFlags) error {
	c, err := a.connect()
	var there map[string]ruqi.Job
	if err == nil {
		defer c.Close()
		there, err = crontabJobs(ctx, c)
	}
	if f.dryRun && notAsked(err) {
		return a.tryLines(all, refused, f, err)
	}
	if err != nil {
		return err
	}
	if !f.takeOver {
		var others int
		all, others = a.refuseOthers(all, there)
		refused += others
	}
	all, ofSets := a.refuseSets(all, there)
	refused += ofSets
	outcomes, failed, err := sendLines(ctx, c, all, there, f.dryRun)
	if err != nil {
		return err
	}
	in, wrong := a.judgeLines(all, outcomes, there)
	refused += wrong
	if f.dryRun {
		err = a.printLines(in)
	} else {
		err = a.printTaken(outcomes)
	}
	tell := a.say
	if a.output != "json" && !f.dryRun {
		tell = func(format string, args ...any) {
			err = errors.Join(err, a.print("%s\n", escape(fmt.Sprintf(format, args...))))
		}
	}
	if failed == nil {
		a.sayGone(there, all, tables, f)
	}
	switch {
	case f.dryRun && failed == nil:
		counts := a.sayRehearsed(outcomes)
		tell("%s would be added; %s", count(len(in), "job"), notTaken(refused, "line"))
		tell("%s: %s", count(len(in), "job"), counts)
	case !f.dryRun:
		tell("%s; %s", summary(outcomes, failed), notTaken(refused, "line"))
	}
	if failed == nil {
		tellPolicies(tell, in, f)
	}
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	if refused > 0 {
		return errNotAll
	}
	return nil
}

// sendLines adds the jobs, or asks the service what adding them would do.
func sendLines(ctx context.Context, c *client.Client, all []lineJob, there map[string]ruqi.Job, dryRun bool) (outcomes []outcome, failed, err error) {
	definitions := make([]json.RawMessage, len(all))
	for i, job := range all {
		if definitions[i], err = encode(job.Definition); err != nil {
			return nil, nil, err
		}
	}
	onConflict := func(i int) ruqi.OnConflict {
		if _, before := there[all[i].ID]; before {
			return ruqi.Replace // only what came from a crontab before is
		}
		return ruqi.Fail
	}
	if dryRun {
		outcomes, failed = rehearseAll(ctx, c, definitions, onConflict, func(i int) ruqi.Job { return there[all[i].ID] })
	} else {
		outcomes, failed = addInBatches(ctx, c, definitions, onConflict)
	}
	return outcomes, failed, nil
}

// judgeLines says what is wrong with the jobs that were refused, and returns the others and how many were.
func (a *app) judgeLines(all []lineJob, outcomes []outcome, there map[string]ruqi.Job) (in []lineJob, refused int) {
	for i, o := range outcomes {
		var invalid *ruqi.InvalidError
		job := all[i]
		switch {
		case errors.As(o.fault, &invalid):
			a.sayFaults(job, invalid)
			refused++
		case errors.Is(o.fault, ruqi.ErrExists):
			a.say("%s: its id %s is taken by a job that came from no crontab; --prefix gives another", job.where, job.ID)
			refused++
		case o.how != "":
			// What is replaced keeps its zone where none is given.
			if at := wire.Zone(o.job.Trigger); !job.Zoned && at != nil {
				if old, before := there[job.ID]; before && wire.Zone(old.Trigger) != nil {
					job.zone = at.String() + ", as before"
				} else {
					job.zone = at.String() + ", the service's zone"
				}
			}
			in = append(in, job)
		}
	}
	return in, refused
}

// printTaken says of the jobs that were taken what they have become, in a table of those alone that have changed.
func (a *app) printTaken(outcomes []outcome) error {
	var jobs []ruqi.Job
	var done []string
	for _, o := range outcomes {
		if o.how != "" && (a.output == "json" || o.how != "unchanged") {
			jobs, done = append(jobs, o.job), append(done, o.how)
		}
	}
	return a.printChanged(jobs, done...)
}

func notTaken(refused int, noun string) string {
	if refused == 0 {
		return "nothing was left out"
	}
	return count(refused, noun) + " not taken"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// tellPolicies tells what the jobs do where crontabs are silent.
func tellPolicies(tell func(string, ...any), all []lineJob, f *crontabFlags) {
	if len(all) == 0 {
		return
	}
	late := "a fire that cannot start within " + duration.Format(crontab.Grace) + " does not run, as in cron (--catch-up lets it)"
	if f.catchUp {
		late = "fires that come late run, too"
	}
	overlap := "a run may begin while the one before goes on, as in cron (--overlap skip prevents it)"
	if f.overlap == string(ruqi.OverlapSkip) {
		overlap = "a fire is skipped while the run before goes on"
	}
	tell("%s; %s", late, overlap)
	tell("what the commands write is kept in the history of their runs, in place of mail")
	unzoned := map[string]int{} // by the words for the zone
	given, homeless := 0, 0
	for _, job := range all {
		if task, _ := job.Definition["task"].(map[string]any); task["dir"] == nil {
			homeless++
		}
		when, _ := job.Definition["trigger"].(map[string]any)
		switch {
		case !job.Zoned:
			zone := job.zone
			if zone == "" {
				zone = "the service's zone"
			}
			unzoned[zone]++
		case when["zone"] == f.zone:
			given++
		}
	}
	if homeless > 0 {
		tell("%s: started where the service was, not at home, which is not known here", count(homeless, "job"))
	}
	for _, zone := range slices.Sorted(maps.Keys(unzoned)) {
		tell("%s: times in %s, since no CRON_TZ says otherwise (--tz does)", count(unzoned[zone], "job"), zone)
	}
	if given > 0 && f.zone != "" {
		tell("%s: times in %s", count(given, "job"), f.zone)
	}
}

// refuseSets leaves out jobs whose ids have jobs of sets of job files: it is for these to say what the jobs are.
func (a *app) refuseSets(all []lineJob, there map[string]ruqi.Job) (rest []lineJob, refused int) {
	for _, job := range all {
		if set := there[job.ID].Labels[setLabel]; set != "" {
			a.say("%s: its id %s is taken by a job of the set %q of job files; --prefix gives another", job.where, job.ID, set)
			refused++
			continue
		}
		rest = append(rest, job)
	}
	return rest, refused
}

// refuseOthers leaves out tables that have ids of jobs that came from another file, and tells how many jobs these are: taken, they would
// make one table of two.
func (a *app) refuseOthers(all []lineJob, there map[string]ruqi.Job) (rest []lineJob, refused int) {
	first := map[*crontabFile]string{} // the id of which it is told
	others := map[*crontabFile]int{}
	for _, job := range all {
		if path := there[job.ID].Labels[pathLabel]; path != "" && path != job.table.from {
			if others[job.table]++; first[job.table] == "" {
				first[job.table] = job.ID
			}
		}
	}
	told := map[*crontabFile]bool{}
	rest = slices.DeleteFunc(all, func(job lineJob) bool {
		id, is := first[job.table]
		if is && !told[job.table] {
			told[job.table] = true
			more := ""
			if n := others[job.table] - 1; n > 0 {
				more = fmt.Sprintf(" (and %d more)", n)
			}
			a.say("%s: not taken: the job %s%s came from %s; --prefix gives the jobs of this table other ids, --take-over puts them in the place of those",
				job.table.shown, id, more, there[id].Labels[pathLabel])
		}
		if is {
			refused++
		}
		return is
	})
	return rest, refused
}

// sayGone names jobs that came from the tables and are not in them any more. They are left as they are: a line may have been taken out
// because its job lives here now.
func (a *app) sayGone(there map[string]ruqi.Job, all []lineJob, tables []crontabFile, f *crontabFlags) {
	in := map[string]bool{}
	for _, job := range all {
		in[job.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		source := there[id].Labels[crontab.Tag]
		path := there[id].Labels[pathLabel]
		read := slices.ContainsFunc(tables, func(t crontabFile) bool { return sourceOf(t) == source && (path == "" || path == t.from) })
		if !in[id] && read && strings.HasPrefix(id, f.prefix+source+"/") {
			a.say("%s came from %s and is not taken from it now; it goes on until it is removed: ruqi job remove", id, source)
		}
	}
}

// crontabJobs returns the jobs that came from crontabs, by id.
func crontabJobs(ctx context.Context, c *client.Client) (map[string]ruqi.Job, error) {
	jobs := map[string]ruqi.Job{}
	err := eachJob(ctx, c, ruqi.JobQuery{Tags: []string{crontab.Tag}}, func(job ruqi.Job) { jobs[job.ID] = job })
	return jobs, err
}
