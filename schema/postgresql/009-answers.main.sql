-- What came of each membership that an offboarding found, so that answers can list it: taken away at, or refused by the directory with this reason.
-- Of what was found before: an ended step had revoked all that it could.
ALTER TABLE task_membership ADD COLUMN revoked_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task_membership ADD COLUMN refused TEXT COLLATE "C";
UPDATE task_membership SET revoked_at = COALESCE((SELECT max(p.at) FROM task_step p WHERE p.task_id = task_membership.task_id
    AND p.name = 'revokeMemberships' AND p.outcome IN ('done', 'already')), 0) WHERE retained IS NULL;
-- Runs of every workflow, newest first.
CREATE INDEX workflow_run_time ON workflow_run (tenant_id, started_at, id);
