-- How far the workers have verified the chain of a tenant's audit records.
CREATE TABLE audit.verified (
    tenant_id   TEXT   NOT NULL PRIMARY KEY,
    claimed_at  BIGINT NOT NULL DEFAULT 0,  -- a worker began then
    asked       BIGINT NOT NULL DEFAULT 0,  -- the wish (audit_check.requested_at) that it began with
    answered    BIGINT NOT NULL DEFAULT 0,  -- the last wish that was carried out
    verified_to BIGINT NOT NULL DEFAULT 0,  -- the last record found whole
    hash        TEXT   NOT NULL DEFAULT '', -- its hash
    verified_at BIGINT NOT NULL DEFAULT 0,  -- 0: never
    full_at     BIGINT NOT NULL DEFAULT 0,  -- from the beginning
    broken_at   BIGINT NOT NULL DEFAULT 0,  -- the first record that does not fit; 0: none
    reason      TEXT
);

-- What the brake counts: tasks that disable an account, when they began first.
CREATE INDEX audit.record_start ON record (tenant_id, at) WHERE action = 'task.start';
