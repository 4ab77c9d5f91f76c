-- The last time that a synchronisation or a task saw an account without a membership: what granted it before that does not grant it any more.
-- Kept only of accounts to which this service granted something.
CREATE TABLE access_end (
    tenant_id TEXT   NOT NULL REFERENCES tenant (id),
    user_id   TEXT   NOT NULL, -- the account in that directory
    group_id  TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, group_id, directory)
);

-- Runs of tasks that gave memberships are found by the account as well.
CREATE INDEX task_account ON task (object_id, tenant_id) WHERE object_id IS NOT NULL;

-- 1: the key may carry decisions of approvers (POST /access-request/decision).
ALTER TABLE api_key ADD COLUMN decisions SMALLINT NOT NULL DEFAULT 0;

-- What an offboarding found and took: group license.
ALTER TABLE task_membership ADD COLUMN kind TEXT NOT NULL DEFAULT 'group';
-- The step that took it away, of what an action took; 0: the sweep over the memberships.
ALTER TABLE task_membership ADD COLUMN position BIGINT NOT NULL DEFAULT 0;
