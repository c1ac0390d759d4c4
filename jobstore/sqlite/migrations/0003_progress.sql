-- Where a run said it was, beside how far.
ALTER TABLE rq_run_more ADD COLUMN progress_text TEXT NOT NULL DEFAULT '';
