-- Times are microseconds since 1970 in UTC. States and causes are the codes of
-- jobstore/internal/sqlstore: job 0 active, 1 paused, 2 finished; run 0 queued,
-- 1 running, 2 succeeded, 3 failed, 4 timed out, 5 cancelled, 6 lost, 7 missed, 8 skipped.

-- One row. Every write step sets token, so that a step whose commit failed can
-- see whether it happened. The counters only grow: what was deleted is never numbered again.
CREATE TABLE rq_ledger (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  schema INTEGER NOT NULL,
  token  INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  epoch  INTEGER NOT NULL,
  append INTEGER NOT NULL
);
INSERT INTO rq_ledger VALUES (1, 0, 0, 0, 0, 0);

-- What changes with each fire, kept narrow.
CREATE TABLE rq_job (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT    NOT NULL,
  state         INTEGER NOT NULL,
  reason        TEXT    NOT NULL,
  pool          TEXT    NOT NULL,
  needs         TEXT    NOT NULL,
  priority      INTEGER NOT NULL,
  max_instances INTEGER NOT NULL,
  next_nominal  INTEGER,
  next_due      INTEGER,
  run_count     INTEGER NOT NULL,
  -- Counts the edits of the row, so that what is kept of it in memory is known to be right.
  rev           INTEGER NOT NULL
);
CREATE UNIQUE INDEX rq_job_id ON rq_job (id);
-- The claim's order, apart for each thing that an instance must have, so that what
-- another one is to run is passed over as a whole.
CREATE INDEX rq_job_due ON rq_job (pool, needs, priority DESC, next_due) WHERE next_due IS NOT NULL AND state = 0;

-- What changes with edits alone: the wide part of a job.
CREATE TABLE rq_definition (
  seq     INTEGER PRIMARY KEY,
  name    TEXT    NOT NULL,
  version INTEGER NOT NULL,
  tags    TEXT,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  spec    BLOB
);
CREATE INDEX rq_definition_name ON rq_definition (name);
CREATE INDEX rq_definition_created ON rq_definition (created);

-- What every run has.
CREATE TABLE rq_run (
  id        INTEGER PRIMARY KEY,
  job_id    TEXT    NOT NULL,
  cause     INTEGER NOT NULL,
  nominal   INTEGER NOT NULL,
  attempt   INTEGER NOT NULL,
  state     INTEGER NOT NULL,
  due       INTEGER NOT NULL,
  started   INTEGER,
  finished  INTEGER,
  instance  TEXT    NOT NULL DEFAULT '',
  epoch     INTEGER NOT NULL DEFAULT 0,
  batch     INTEGER NOT NULL DEFAULT 0,
  cancel_by TEXT    NOT NULL DEFAULT '',
  reason    TEXT    NOT NULL DEFAULT '',
  job_name  TEXT    NOT NULL,
  task      TEXT    NOT NULL,
  params    TEXT
);
-- One outcome for each fire and attempt, whoever races. The time stands first: new
-- rows come close together at the end, where few pages are written for many of them.
CREATE UNIQUE INDEX rq_run_key ON rq_run (nominal, job_id, cause, attempt);
-- History of a job, newest first: the run's id is the index's last column by itself.
CREATE INDEX rq_run_job ON rq_run (job_id);
-- Few rows at any time, however long the history.
CREATE INDEX rq_run_alive ON rq_run (job_id, state, batch) WHERE state < 2;
CREATE INDEX rq_run_queued ON rq_run (due) WHERE state = 0;
CREATE INDEX rq_run_cancel ON rq_run (instance, epoch) WHERE state = 1 AND cancel_by <> '';
-- All but the common end, so that the rare states are found among many successes.
CREATE INDEX rq_run_state ON rq_run (state) WHERE state > 2;
-- For retention by age; new entries come at its end.
CREATE INDEX rq_run_finished ON rq_run (finished) WHERE finished IS NOT NULL;

-- What only some runs have: those of processes, catch-ups, later attempts, and those with output.
CREATE TABLE rq_run_more (
  run_id         INTEGER PRIMARY KEY,
  parent_id      INTEGER NOT NULL DEFAULT 0,
  coalesced      INTEGER NOT NULL DEFAULT 0,
  coalesced_from INTEGER,
  exit_code      INTEGER,
  signal         TEXT    NOT NULL DEFAULT '',
  cpu            INTEGER NOT NULL DEFAULT 0,
  max_rss        INTEGER NOT NULL DEFAULT 0,
  output_bytes   INTEGER NOT NULL DEFAULT 0,
  output_cut     INTEGER NOT NULL DEFAULT 0,
  output_tail    INTEGER NOT NULL DEFAULT 0,
  result         TEXT,
  progress       REAL
);

-- Under which names a job's runs are listed, so that runs need no index by name.
CREATE TABLE rq_run_name (
  name   TEXT NOT NULL,
  job_id TEXT NOT NULL,
  PRIMARY KEY (name, job_id)
) WITHOUT ROWID;

CREATE TABLE rq_output (
  run_id INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  bytes  BLOB    NOT NULL,
  PRIMARY KEY (run_id, at)
) WITHOUT ROWID;

-- One row for each life of an instance; lives before the latest stay until their runs are rescued.
CREATE TABLE rq_instance (
  name        TEXT    NOT NULL,
  epoch       INTEGER NOT NULL,
  started     INTEGER NOT NULL,
  beat        INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  lease       INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  release     TEXT    NOT NULL,
  zones       TEXT    NOT NULL,
  slots       TEXT,
  needs       TEXT,
  PRIMARY KEY (name, epoch)
) WITHOUT ROWID;

CREATE TABLE rq_record (
  kind    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  version INTEGER NOT NULL,
  data    BLOB,
  updated INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
