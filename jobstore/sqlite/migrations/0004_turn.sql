-- Whose turn is next among the queued rows: from each job, batch and cause a claim leaps to the next, however many rows wait there.
CREATE INDEX IF NOT EXISTS rq_run_turn ON rq_run (job_id, batch, cause, due) WHERE state = 0;
