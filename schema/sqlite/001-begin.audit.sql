-- The audit file: the system log. Written by ingestion (and erasure, retention) alone.

-- seq is gapless per tenant. hash = SHA-256 over (previous hash, seq, at, category, outcome, personal_hash); personal_hash = SHA-256 over
-- (salt, personal part), so that erasing salt and personal columns leaves the chain whole.
CREATE TABLE audit.record (
    tenant_id     TEXT   NOT NULL,
    seq           BIGINT NOT NULL,
    rid           TEXT   NOT NULL,        -- identity given at the source: a record ingested twice is one record
    at            BIGINT NOT NULL,
    category      TEXT   NOT NULL,        -- api workflow portal
    outcome       TEXT   NOT NULL,
    actor         TEXT,
    actor_key     TEXT,                   -- folded, for filters
    label         TEXT,
    action        TEXT,
    target        TEXT,
    endpoint      TEXT,
    parameters    TEXT,
    detail        TEXT,
    salt          TEXT,                   -- NULL: erased
    personal_hash TEXT   NOT NULL,
    hash          TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);
CREATE UNIQUE INDEX audit.record_rid ON record (tenant_id, rid);
CREATE INDEX audit.record_at ON record (tenant_id, at, seq);
CREATE INDEX audit.record_actor ON record (tenant_id, actor_key, at, seq);
CREATE INDEX audit.record_category ON record (tenant_id, category, at, seq);

-- Head and foot of each tenant's chain. first_seq/first_hash: the record before the first one kept (retention removes a prefix).
CREATE TABLE audit.chain (
    tenant_id  TEXT   NOT NULL PRIMARY KEY,
    seq        BIGINT NOT NULL,
    hash       TEXT   NOT NULL,
    first_seq  BIGINT NOT NULL DEFAULT 0,
    first_hash TEXT   NOT NULL
);

-- How far each spool segment was read; committed with the rows that were read.
CREATE TABLE audit.spool_position (
    spool    TEXT   NOT NULL,             -- identity of the spool directory
    segment  TEXT   NOT NULL,
    position BIGINT NOT NULL,             -- bytes consumed
    torn     BIGINT NOT NULL DEFAULT 0,   -- records skipped because they were incomplete
    PRIMARY KEY (spool, segment)
);
