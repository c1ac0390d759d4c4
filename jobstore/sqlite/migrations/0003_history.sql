-- Totals of executed runs without a count of a million rows, and pages of the newest jobs. A program that knows nothing of rq_tally
-- would delete history without telling it, and add definitions without their id.
UPDATE rq_ledger SET oldest = 3 WHERE one = 1;

-- Runs with an id up to it are counted in rq_tally, or listed in rq_untallied; those above are counted when they are asked for.
ALTER TABLE rq_ledger ADD COLUMN tallied INTEGER NOT NULL DEFAULT 0;

-- How many runs were executed: scope 0 all, in one row; 1 those of the job a under the name b; 2 those under the name a of jobs
-- whose id is another (most jobs have no name but their id). A row that counts none is not there.
CREATE TABLE rq_tally (
  scope     INTEGER NOT NULL,
  a         TEXT    NOT NULL,
  b         TEXT    NOT NULL,
  succeeded INTEGER NOT NULL,
  others    INTEGER NOT NULL,
  PRIMARY KEY (scope, a, b)
) WITHOUT ROWID;

-- Runs that were queued or running when their turn came.
CREATE TABLE rq_untallied (run_id INTEGER PRIMARY KEY);

-- The id stands beside the other keys of a page's order; jobs that were added in one step have the same time of creation.
ALTER TABLE rq_definition ADD COLUMN id TEXT NOT NULL DEFAULT '';
-- Jobs that run when an instance starts.
ALTER TABLE rq_definition ADD COLUMN on_start INTEGER NOT NULL DEFAULT 0;
UPDATE rq_definition SET id = (SELECT j.id FROM rq_job j WHERE j.seq = rq_definition.seq);
DROP INDEX rq_definition_name;
DROP INDEX rq_definition_created;
CREATE INDEX rq_definition_name ON rq_definition (name, id);
CREATE INDEX rq_definition_created ON rq_definition (created, id);
CREATE INDEX rq_definition_newest ON rq_definition (created DESC, id);
CREATE INDEX rq_definition_start ON rq_definition (id) WHERE on_start = 1;

-- Executed runs that did not succeed, of a job: few among many.
CREATE INDEX rq_run_bad ON rq_run (job_id) WHERE state > 2 AND state < 7;

-- Where a run said it was, beside how far.
ALTER TABLE rq_run_more ADD COLUMN progress_text TEXT NOT NULL DEFAULT '';
