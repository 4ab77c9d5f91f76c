-- The identity of the request that a record is about. NULL: the record is older, it is about none,
-- or it was erased.
ALTER TABLE audit.record ADD COLUMN correlation TEXT;
CREATE INDEX audit.record_correlation ON record (tenant_id, correlation, at, seq)
    WHERE correlation IS NOT NULL;

-- How far each tenant's records were sent to the receiver of audit_siem.
CREATE TABLE audit.forwarded (
    tenant_id TEXT   NOT NULL PRIMARY KEY,
    seq       BIGINT NOT NULL DEFAULT 0, -- the last record that it took, or that retention removed
    owner     TEXT,                      -- worker that sends them now
    until     BIGINT NOT NULL DEFAULT 0, -- how long no other worker does
    taken_at  BIGINT NOT NULL DEFAULT 0  -- when it took that record; 0: never one
);
