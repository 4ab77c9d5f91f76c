-- A record under a key: hash = HMAC-SHA-256 of what it covered before, of question and next_key. key_id: the name of that key, NULL for what
-- was recorded before there were keys. next_key: the key of the records behind this one, where it changes. erased_mac: that the worker erased it.
ALTER TABLE audit.record ADD COLUMN key_id TEXT;
ALTER TABLE audit.record ADD COLUMN next_key TEXT;
ALTER TABLE audit.record ADD COLUMN erased_mac TEXT;

-- The ends of a chain under the key: keyed_from is the first record under one, broken the first that was written behind an end which was not
-- the one that the worker had left.
ALTER TABLE audit.chain ADD COLUMN key_id TEXT;
ALTER TABLE audit.chain ADD COLUMN keyed_from BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit.chain ADD COLUMN broken BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit.chain ADD COLUMN head_mac TEXT;
ALTER TABLE audit.chain ADD COLUMN foot_mac TEXT;

-- The key that every worker of this store must have.
CREATE TABLE audit.chain_key (
    id     BIGINT NOT NULL PRIMARY KEY,   -- 1
    key_id TEXT   NOT NULL
);

-- Signed statements that a record stood at this place, each with the hash of the one before it.
CREATE TABLE audit.checkpoint (
    tenant_id TEXT   NOT NULL,
    number    BIGINT NOT NULL,            -- of the newest record then
    hash      TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    before    TEXT   NOT NULL,
    signature TEXT   NOT NULL,
    sent      SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, number)
);
CREATE INDEX checkpoint_unsent ON audit.checkpoint (tenant_id, number) WHERE sent = 0;
