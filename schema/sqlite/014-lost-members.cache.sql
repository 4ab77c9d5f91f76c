-- Memberships of people that a synchronisation or a task has just seen gone, until the worker has noted them in access_end.
CREATE TABLE cache.membership_lost (
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    group_id  TEXT   NOT NULL,
    user_id   TEXT   NOT NULL,
    at        BIGINT NOT NULL, -- what was granted before this instant is over
    PRIMARY KEY (tenant_id, directory, group_id, user_id)
) WITHOUT ROWID;

-- 1: since the last write-through a read of the directory has shown what was written. A contradiction is another's change from then on.
ALTER TABLE cache.directory_user ADD COLUMN shown SMALLINT NOT NULL DEFAULT 0;
