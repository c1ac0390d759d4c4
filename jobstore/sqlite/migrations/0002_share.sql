-- What releases, machines and other programs that share the file tell each other.

-- The oldest schema whose programs may still work on the file. A migration that only adds what older
-- programs need not know leaves it; one after which they would do harm raises it.
ALTER TABLE rq_ledger ADD COLUMN oldest INTEGER NOT NULL DEFAULT 1;

-- How far the instance's clock is ahead of the store's, in microseconds; NULL: not known.
ALTER TABLE rq_instance ADD COLUMN clock_offset INTEGER;

-- Jobs and history with the columns of the original service's tables, for reports that read those. A
-- table of such a name is left alone. They are written for SQLite 3.9 and newer: a view that an older sqlite3 program
-- cannot parse would keep it from the whole file. next_due without next_nominal is no fire time, but when the search for one goes on.
CREATE VIEW IF NOT EXISTS ruqi_jobs AS
  SELECT j.id AS id, CASE WHEN j.next_nominal IS NOT NULL THEN j.next_due / 1000000.0 END AS next_run_time, j.spec AS job_state,
    EXISTS (SELECT 1 FROM rq_run r WHERE r.job_id = j.id AND r.state < 2 AND r.state = 1) AS job_lock,
    j.name AS job_name, json_extract(j.known, '$.trigger.kind') AS job_trigger,
    CASE json_extract(j.known, '$.trigger.kind')
      WHEN 'cron' THEN json_extract(j.known, '$.trigger.expr')
      WHEN 'interval' THEN json_extract(j.known, '$.trigger.every')
      WHEN 'date' THEN json_extract(j.known, '$.trigger.at')
      ELSE json_extract(j.known, '$.trigger') END AS job_rule,
    strftime('%Y-%m-%d %H:%M:%S', j.updated / 1000000, 'unixepoch') AS u_time,
    strftime('%Y-%m-%d %H:%M:%S', j.created / 1000000, 'unixepoch') AS c_time
  FROM (SELECT j.id, j.next_nominal, j.next_due, d.name, d.created, d.updated, CAST(d.spec AS TEXT) AS spec,
      CASE WHEN json_valid(CAST(d.spec AS TEXT)) THEN CAST(d.spec AS TEXT) END AS known
    FROM rq_job j JOIN rq_definition d ON d.seq = j.seq) j;

-- Finished executions only. c_time is their end. The output ends at its 4,096th character, or before its first NUL;
-- 16,384 bytes hold so many characters of any kind.
CREATE VIEW IF NOT EXISTS ruqi_jobs_history AS
  SELECT r.id AS id, r.job_id AS job_id, r.job_name AS job_name, r.task AS cmd, r.state = 2 AS cmd_is_success,
    ifnull((SELECT substr(group_concat(o.text, ''), 1, 4096) FROM (SELECT CAST(bytes AS TEXT) AS text
      FROM rq_output WHERE run_id = r.id AND at < 16384 ORDER BY at) o), '') AS cmd_output,
    max(r.finished - r.started, 0) / 1000000.0 AS cmd_cost, r.instance AS scheduler_name,
    strftime('%Y-%m-%d %H:%M:%S', r.finished / 1000000, 'unixepoch') AS c_time
  FROM rq_run r WHERE r.state BETWEEN 2 AND 6 AND r.started IS NOT NULL AND r.finished IS NOT NULL;
