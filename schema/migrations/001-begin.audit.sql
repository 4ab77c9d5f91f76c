-- The audit file: the system log. Only ingestion, erasure and retention write it.
--- postgresql
CREATE SCHEMA IF NOT EXISTS audit;
--- both

-- seq has no gaps within a tenant. hash = HMAC-SHA-256 under a key (key_id; NULL: SHA-256, for
-- records from before there was one) over (previous hash, seq, at, category, outcome,
-- personal_hash, question, next_key); personal_hash = SHA-256 over (salt, personal part), so that
-- the chain stays whole when erasure removes salt and personal columns.
CREATE TABLE audit.record (
    tenant_id     TEXT     NOT NULL,
    seq           BIGINT   NOT NULL,
    rid           TEXT     NOT NULL,        -- given at the source: ingested twice, recorded once
    at            BIGINT   NOT NULL,
    category      TEXT     NOT NULL,        -- api workflow portal
    outcome       TEXT     NOT NULL,
    actor         TEXT,
    actor_key     TEXT,                     -- folded, for filters
    label         TEXT,
    action        TEXT,
    target        TEXT,
    target_key    TEXT,                     -- folded, for filters
    endpoint      TEXT,
    parameters    TEXT,
    detail        TEXT,
    address       TEXT,                     -- of the client; NULL: there is none
    question      SMALLINT NOT NULL DEFAULT 0, -- 1: a read that was answered
    salt          TEXT,                     -- NULL: erased
    personal_hash TEXT     NOT NULL,
    hash          TEXT     NOT NULL,
    key_id        TEXT,
    next_key      TEXT,                     -- key of the records after this one, if it changes
    erased_mac    TEXT,                     -- proof that the worker erased it
    PRIMARY KEY (tenant_id, seq)
);
CREATE UNIQUE INDEX audit.record_rid ON record (tenant_id, rid);
CREATE INDEX audit.record_at ON record (tenant_id, at, seq);
CREATE INDEX audit.record_actor ON record (tenant_id, actor_key, at, seq);
CREATE INDEX audit.record_category ON record (tenant_id, category, at, seq);
CREATE INDEX audit.record_target ON record (tenant_id, target_key, at, seq);
CREATE INDEX audit.record_deeds ON record (tenant_id, at, seq) WHERE question = 0;
-- For the brake: tasks that disable an account, at their first begin.
CREATE INDEX audit.record_start ON record (tenant_id, at) WHERE action = 'task.start';

-- Both ends of each tenant's chain, with their proofs under the key.
CREATE TABLE audit.chain (
    tenant_id  TEXT   NOT NULL PRIMARY KEY,
    seq        BIGINT NOT NULL,
    hash       TEXT   NOT NULL,
    first_seq  BIGINT NOT NULL DEFAULT 0, -- the record before the first one kept: retention
    first_hash TEXT   NOT NULL,           -- removes a prefix
    key_id     TEXT,
    keyed_from BIGINT NOT NULL DEFAULT 0, -- first record under a key
    broken     BIGINT NOT NULL DEFAULT 0, -- first record after an unsigned end
    head_mac   TEXT,
    foot_mac   TEXT
);

-- The key that every worker of this store must use.
CREATE TABLE audit.chain_key (
    id     BIGINT NOT NULL PRIMARY KEY,   -- 1
    key_id TEXT   NOT NULL
);

-- Signed statements that a record was at its position, each with the hash of the one before it.
CREATE TABLE audit.checkpoint (
    tenant_id TEXT     NOT NULL,
    number    BIGINT   NOT NULL,            -- of the newest record then
    hash      TEXT     NOT NULL,
    at        BIGINT   NOT NULL,
    before    TEXT     NOT NULL,
    signature TEXT     NOT NULL,
    sent      SMALLINT NOT NULL DEFAULT 0,
    told      SMALLINT NOT NULL DEFAULT 0,  -- 1: the receiver of audit_webhook has accepted it
    PRIMARY KEY (tenant_id, number)
);
CREATE INDEX audit.checkpoint_unsent ON checkpoint (tenant_id, number) WHERE sent = 0;
CREATE INDEX audit.checkpoint_untold ON checkpoint (tenant_id, number) WHERE told = 0;

-- How far the workers have verified each tenant's chain.
CREATE TABLE audit.verified (
    tenant_id   TEXT   NOT NULL PRIMARY KEY,
    claimed_at  BIGINT NOT NULL DEFAULT 0,  -- when a worker began
    asked       BIGINT NOT NULL DEFAULT 0,  -- audit_check.requested_at that it began with
    answered    BIGINT NOT NULL DEFAULT 0,  -- the last one that was completed
    verified_to BIGINT NOT NULL DEFAULT 0,  -- the last record found whole
    hash        TEXT   NOT NULL DEFAULT '', -- its hash
    verified_at BIGINT NOT NULL DEFAULT 0,  -- 0: never
    full_at     BIGINT NOT NULL DEFAULT 0,  -- from the beginning
    broken_at   BIGINT NOT NULL DEFAULT 0,  -- the first record that does not fit; 0: none
    reason      TEXT,
    strays      BIGINT NOT NULL DEFAULT 0,  -- keys and tasks without a record of their creation
    stray       TEXT                        -- the first of them, as a sentence
);

-- How far each segment of a spool was read; committed with the rows that were read.
CREATE TABLE audit.spool_position (
    spool    TEXT   NOT NULL,             -- identity of the spool directory
    segment  TEXT   NOT NULL,
    position BIGINT NOT NULL,             -- bytes consumed
    torn     BIGINT NOT NULL DEFAULT 0,   -- incomplete records that were skipped
    PRIMARY KEY (spool, segment)
);
