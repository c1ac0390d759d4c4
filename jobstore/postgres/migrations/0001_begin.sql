-- States and causes are the codes of jobstore/internal/sqlstore: job 0 active, 1 paused,
-- 2 finished; run 0 queued, 1 running, 2 succeeded, 3 failed, 4 timed out, 5 cancelled, 6 lost, 7 missed, 8 skipped.
-- Texts compare by their bytes (C), so that pages and lanes have one order on every server.

-- One row. schema is the number of the last migration; oldest that of the oldest schema whose programs
-- can still work here. append only grows: keys of appended records are never given twice.
CREATE TABLE rq_ledger (
  one    smallint PRIMARY KEY CHECK (one = 1),
  schema integer  NOT NULL,
  oldest integer  NOT NULL,
  append bigint   NOT NULL
);
INSERT INTO rq_ledger VALUES (1, 0, 1, 0);

CREATE SEQUENCE rq_run_id MAXVALUE 9007199254740991; -- 2^53 - 1, exact in every language
CREATE SEQUENCE rq_epoch;

-- What changes with edits alone: the wide part of a job.
CREATE TABLE rq_definition (
  seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id      text COLLATE "C" NOT NULL,
  name    text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  tags    text[] COLLATE "C",
  created timestamptz NOT NULL,
  updated timestamptz NOT NULL,
  spec    bytea,
  -- The job runs when an instance starts.
  on_start boolean NOT NULL DEFAULT false
);
-- With seq, so that what a page passes over is passed over in the index alone.
CREATE UNIQUE INDEX rq_definition_id ON rq_definition (id) INCLUDE (seq);
CREATE INDEX rq_definition_name ON rq_definition (name, id) INCLUDE (seq);
CREATE INDEX rq_definition_created ON rq_definition (created, id) INCLUDE (seq);
CREATE INDEX rq_definition_newest ON rq_definition (created DESC, id) INCLUDE (seq);
CREATE INDEX rq_definition_start ON rq_definition (id) WHERE on_start;

-- What changes with each fire, kept narrow. Its row is the job's lock. It has no index but those that
-- a claim needs: each is written with each fire.
CREATE TABLE rq_job (
  seq           bigint PRIMARY KEY,
  id            text COLLATE "C" NOT NULL,
  state         smallint NOT NULL,
  reason        text NOT NULL,
  pool          text COLLATE "C" NOT NULL,
  needs         text COLLATE "C" NOT NULL,
  priority      integer NOT NULL,
  max_instances integer NOT NULL,
  next_nominal  timestamptz,
  next_due      timestamptz,
  run_count     bigint NOT NULL,
  -- Counts the edits of the row, so that what is kept of it in memory is known to be right.
  rev           bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- The claim's order, apart for each thing that an instance must have, so that what
-- another one is to run is passed over as a whole.
CREATE INDEX rq_job_due ON rq_job (pool, needs, priority DESC, next_due, seq) WHERE state = 0 AND next_due IS NOT NULL;

-- Queued and running rows, of which there are few at any time, stand apart from history: what changes
-- is small, and a row of history is written once, at its end, with all its indexes. A row moves when its state says so.
-- No constraint spans both: ids come from the sequence, and who makes a run holds the lock of its job, or of its id where
-- that is gone, and has looked for its key in both.
CREATE TABLE rq_run (
  id             bigint NOT NULL,
  nominal        timestamptz NOT NULL,
  due            timestamptz NOT NULL,
  started        timestamptz,
  finished       timestamptz,
  epoch          bigint NOT NULL DEFAULT 0,
  batch          bigint NOT NULL DEFAULT 0,
  attempt        integer NOT NULL,
  cause          smallint NOT NULL,
  state          smallint NOT NULL,
  job_id         text COLLATE "C" NOT NULL,
  job_name       text COLLATE "C" NOT NULL,
  task           text NOT NULL,
  instance       text COLLATE "C" NOT NULL DEFAULT '',
  reason         text NOT NULL DEFAULT '',
  params         text,
  -- What only some runs have.
  parent_id      bigint,
  coalesced      bigint,
  coalesced_from timestamptz,
  cancel_by      text,
  exit_code      bigint,
  signal         text,
  cpu            bigint, -- microseconds
  max_rss        bigint, -- bytes
  output_bytes   bigint,
  output_cut     boolean,
  output_tail    bigint,
  result         text,
  progress       double precision,
  progress_text  text
) PARTITION BY RANGE (state);

-- Mostly the table was empty when the server counted its rows last, and then all indexes cost it the same: it may take any that has the
-- column of a term, also as the last one, and walk all of it for each id. So each column that is looked for stands in one index
-- alone: the id in that of ids, the job in that of keys.
CREATE TABLE rq_run_alive PARTITION OF rq_run (PRIMARY KEY (id)) FOR VALUES FROM (MINVALUE) TO (2)
  WITH (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.05, vacuum_truncate = off);
CREATE UNIQUE INDEX rq_run_alive_key ON rq_run_alive (job_id, nominal, cause, attempt);
CREATE INDEX rq_run_queued ON rq_run_alive (due) WHERE state = 0;
CREATE INDEX rq_run_cancel ON rq_run_alive (instance, epoch) WHERE state = 1 AND cancel_by IS NOT NULL;

CREATE TABLE rq_run_ended PARTITION OF rq_run (PRIMARY KEY (id)) FOR VALUES FROM (2) TO (MAXVALUE)
  WITH (autovacuum_vacuum_scale_factor = 0.05);
-- One outcome for each fire and attempt, whoever races. The time stands first: new
-- rows come close together at the end.
CREATE UNIQUE INDEX rq_run_key ON rq_run_ended (nominal, job_id, cause, attempt);
CREATE INDEX rq_run_job ON rq_run_ended (job_id, id);
-- All but the common end, so that the rare states are found among many successes.
CREATE INDEX rq_run_state ON rq_run_ended (state, id) WHERE state > 2;
-- Executed runs that did not succeed, of a job.
CREATE INDEX rq_run_bad ON rq_run_ended (job_id, id) WHERE state > 2 AND state < 7;
-- All but the schedule's.
CREATE INDEX rq_run_cause ON rq_run_ended (cause, id) WHERE cause <> 0;
-- For retention by age; new entries come at its end.
CREATE INDEX rq_run_finished ON rq_run_ended (finished);

-- Under which names a job's runs are listed, so that runs need no index by name.
CREATE TABLE rq_run_name (
  name   text COLLATE "C" NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, job_id)
);
CREATE INDEX rq_run_name_job ON rq_run_name (job_id);

-- How many runs were executed, so that nobody counts a million rows: scope 0 all, in one row; 1 those of the job a under the
-- name b; 2 those under the name a of jobs whose id is another (most jobs have no name but their id). A row that counts none is not there.
CREATE TABLE rq_tally (
  scope     smallint NOT NULL,
  a         text COLLATE "C" NOT NULL,
  b         text COLLATE "C" NOT NULL,
  succeeded bigint NOT NULL,
  others    bigint NOT NULL,
  PRIMARY KEY (scope, a, b)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- One row, whose lock is that of the tally. Runs with an id up to run are counted in it, or listed in rq_untallied, because they were
-- queued or running when their turn came; those above are counted when they are asked for.
CREATE TABLE rq_tally_mark (
  one smallint PRIMARY KEY CHECK (one = 1),
  run bigint NOT NULL
);
INSERT INTO rq_tally_mark VALUES (1, 0);
CREATE TABLE rq_untallied (run_id bigint PRIMARY KEY);

CREATE TABLE rq_output (
  run_id bigint NOT NULL,
  at     bigint NOT NULL,
  bytes  bytea  NOT NULL,
  PRIMARY KEY (run_id, at)
);

-- One row for each life of an instance; lives before the latest stay until their runs are rescued.
CREATE TABLE rq_instance (
  name         text COLLATE "C" NOT NULL,
  epoch        bigint NOT NULL,
  started      timestamptz NOT NULL,
  beat         timestamptz NOT NULL,
  lease_until  timestamptz NOT NULL,
  lease        bigint NOT NULL, -- microseconds; 0: it said goodbye, or was rescued
  clock_offset bigint,          -- microseconds
  state        text NOT NULL,
  release      text NOT NULL,
  zones        text NOT NULL,
  slots        text,
  needs        text,
  PRIMARY KEY (name, epoch)
) WITH (fillfactor = 50);

CREATE TABLE rq_record (
  kind    bytea NOT NULL,
  key     bytea NOT NULL,
  version bigint NOT NULL,
  data    bytea,
  updated timestamptz NOT NULL,
  PRIMARY KEY (kind, key)
);

-- The definition as JSON that every operator of json can read; NULL when it is none, which a later release or a hand may have
-- written. No text can hold U+0000 or half a surrogate pair, which JSON may: U+FFFD stands for each. (\u005c is a
-- backslash; with it for all pairs of them, each that is left begins an escape.)
CREATE FUNCTION rq_json(spec bytea) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  definition text;
BEGIN
  definition := convert_from(spec, 'UTF8');
  BEGIN
    PERFORM definition::json -> ''; -- reads all of it
    RETURN definition::json;
  EXCEPTION WHEN OTHERS THEN
    definition := regexp_replace(replace(definition, '\\', '\u005c'),
      '\\u(0000|[dD][89abAB][[:xdigit:]]{2}(?!\\u[dD][c-fC-F][[:xdigit:]]{2})|(?<!\\u[dD][89abAB][[:xdigit:]]{2}\\u)[dD][c-fC-F][[:xdigit:]]{2})', '\ufffd', 'g');
  END;
  PERFORM definition::json -> '';
  RETURN definition::json;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- Output as text up to its first NUL, as far as it is UTF-8; else with escapes. Its last character may be cut where there is more
-- of it than is read.
CREATE FUNCTION rq_text(output bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  nul integer := position('\x00'::bytea IN output);
  bytes bytea := CASE WHEN nul > 0 THEN substring(output FOR nul - 1) ELSE output END;
BEGIN
  FOR cut IN 0..CASE WHEN nul = 0 AND octet_length(bytes) >= 16384 THEN 3 ELSE 0 END LOOP
    BEGIN
      RETURN convert_from(substring(bytes FOR octet_length(bytes) - cut), 'UTF8');
    EXCEPTION WHEN OTHERS THEN
      NULL;
    END;
  END LOOP;
  RETURN encode(bytes, 'escape');
END $$;

-- Jobs and history with the columns of the original service's tables, for reports that read those. A
-- table of such a name is left alone. Times are in UTC. next_due without next_nominal is no fire time, but when the search for one goes on.
DO $do$
BEGIN
  IF to_regclass('ruqi_jobs') IS NULL THEN
    CREATE VIEW ruqi_jobs AS
      SELECT j.id, CASE WHEN j.next_nominal IS NOT NULL THEN extract(epoch FROM j.next_due)::double precision END AS next_run_time, d.spec AS job_state,
        EXISTS (SELECT FROM rq_run r WHERE r.job_id = j.id AND r.state < 2 AND r.state = 1) AS job_lock,
        d.name AS job_name, s.spec -> 'trigger' ->> 'kind' AS job_trigger,
        CASE s.spec -> 'trigger' ->> 'kind'
          WHEN 'cron' THEN s.spec -> 'trigger' ->> 'expr'
          WHEN 'interval' THEN s.spec -> 'trigger' ->> 'every'
          WHEN 'date' THEN s.spec -> 'trigger' ->> 'at'
          ELSE s.spec ->> 'trigger' END AS job_rule,
        date_trunc('second', d.updated AT TIME ZONE 'UTC') AS u_time,
        date_trunc('second', d.created AT TIME ZONE 'UTC') AS c_time
      FROM rq_job j JOIN rq_definition d ON d.seq = j.seq CROSS JOIN LATERAL (SELECT rq_json(d.spec) AS spec) s;
  END IF;
  IF to_regclass('ruqi_jobs_history') IS NULL THEN
    -- Finished executions only. c_time is their end. 16,384 bytes hold 4,096 characters of any kind.
    CREATE VIEW ruqi_jobs_history AS
      SELECT r.id, r.job_id, r.job_name, r.task AS cmd, r.state = 2 AS cmd_is_success,
        left(rq_text(coalesce((SELECT string_agg(o.bytes, '' ORDER BY o.at) FROM rq_output o WHERE o.run_id = r.id AND o.at < 16384), '')), 4096) AS cmd_output,
        greatest(extract(epoch FROM r.finished - r.started), 0)::double precision AS cmd_cost, r.instance AS scheduler_name,
        date_trunc('second', r.finished AT TIME ZONE 'UTC') AS c_time
      FROM rq_run r WHERE r.state BETWEEN 2 AND 6 AND r.started IS NOT NULL AND r.finished IS NOT NULL;
  END IF;
END $do$;
