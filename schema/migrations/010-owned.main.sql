-- Groups that a leaver owned (kind 'owned', core/queue/revoked.c), for the hygiene report.
CREATE INDEX task_membership_owned ON task_membership (tenant_id, task_id) WHERE kind = 'owned';
