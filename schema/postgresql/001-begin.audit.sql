CREATE SCHEMA IF NOT EXISTS audit;
-- The audit schema: the system log. Written by ingestion (and erasure, retention) alone.

-- seq is gapless per tenant. hash = SHA-256 over (previous hash, seq, at, category, outcome, personal_hash); personal_hash = SHA-256 over
-- (salt, personal part), so that erasing salt and personal columns leaves the chain whole.
CREATE TABLE audit.record (
    tenant_id     TEXT COLLATE "C"   NOT NULL,
    seq           BIGINT NOT NULL,
    rid           TEXT COLLATE "C"   NOT NULL,        -- identity given at the source: a record ingested twice is one record
    at            BIGINT NOT NULL,
    category      TEXT COLLATE "C"   NOT NULL,        -- api workflow portal
    outcome       TEXT COLLATE "C"   NOT NULL,
    actor         TEXT COLLATE "C",
    actor_key     TEXT COLLATE "C",                   -- folded, for filters
    label         TEXT COLLATE "C",
    action        TEXT COLLATE "C",
    target        TEXT COLLATE "C",
    endpoint      TEXT COLLATE "C",
    parameters    TEXT COLLATE "C",
    detail        TEXT COLLATE "C",
    salt          TEXT COLLATE "C",                   -- NULL: erased
    personal_hash TEXT COLLATE "C"   NOT NULL,
    hash          TEXT COLLATE "C"   NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);
CREATE UNIQUE INDEX record_rid ON audit.record (tenant_id, rid);
CREATE INDEX record_at ON audit.record (tenant_id, at, seq);
CREATE INDEX record_actor ON audit.record (tenant_id, actor_key, at, seq);
CREATE INDEX record_category ON audit.record (tenant_id, category, at, seq);

-- Head and foot of each tenant's chain. first_seq/first_hash: the record before the first one kept (retention removes a prefix).
CREATE TABLE audit.chain (
    tenant_id  TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    seq        BIGINT NOT NULL,
    hash       TEXT COLLATE "C"   NOT NULL,
    first_seq  BIGINT NOT NULL DEFAULT 0,
    first_hash TEXT COLLATE "C"   NOT NULL
);

-- How far each spool segment was read; committed with the rows that were read.
CREATE TABLE audit.spool_position (
    spool    TEXT COLLATE "C"   NOT NULL,             -- identity of the spool directory
    segment  TEXT COLLATE "C"   NOT NULL,
    position BIGINT NOT NULL,             -- bytes consumed
    torn     BIGINT NOT NULL DEFAULT 0,   -- records skipped because they were incomplete
    PRIMARY KEY (spool, segment)
);
