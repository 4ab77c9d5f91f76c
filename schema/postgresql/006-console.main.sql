-- Who made a key: the signed-in name, or the operating-system user of idadminctl; NULL: nobody wrote it down then.
ALTER TABLE api_key ADD COLUMN created_by TEXT COLLATE "C";

-- When the certificate ends that the workers sign in to the directory with, as one of them read it; 0: there is none, or nobody has looked.
ALTER TABLE directory_state ADD COLUMN secret_expires_at BIGINT NOT NULL DEFAULT 0;

-- What people have asked the workers to look at in a directory, and what came of it. One row a directory: the last time.
CREATE TABLE directory_check (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    directory    TEXT COLLATE "C" NOT NULL,
    requested_at BIGINT NOT NULL,
    started_at   BIGINT NOT NULL DEFAULT 0,
    finished_at  BIGINT NOT NULL DEFAULT 0,
    worker       TEXT COLLATE "C",                          -- that carries it out, or did
    lines        TEXT COLLATE "C" NOT NULL DEFAULT '[]',    -- JSON: [{check, ok, detail}]
    PRIMARY KEY (tenant_id, directory)
);
CREATE INDEX directory_check_waiting ON directory_check (requested_at) WHERE started_at = 0;

-- How far the workers have verified the chain of a tenant's audit records.
CREATE TABLE audit_check (
    tenant_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenant (id),
    requested_at BIGINT NOT NULL DEFAULT 0,    -- somebody wants it verified from the beginning; 0: done
    claimed_at   BIGINT NOT NULL DEFAULT 0,    -- a worker began then
    verified_to  BIGINT NOT NULL DEFAULT 0,    -- the last record found whole
    hash         TEXT COLLATE "C" NOT NULL DEFAULT '',      -- its hash
    verified_at  BIGINT NOT NULL DEFAULT 0,    -- 0: never
    full_at      BIGINT NOT NULL DEFAULT 0,    -- from the beginning
    broken_at    BIGINT NOT NULL DEFAULT 0,    -- the first record that does not fit; 0: none
    reason       TEXT COLLATE "C"
);
