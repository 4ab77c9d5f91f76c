-- The main file: what callers were promised. Durable (synchronous=FULL); written by httpd, worker and idadminctl.
-- Types are TEXT, BIGINT, SMALLINT on both engines. Instants are milliseconds since 1970-01-01 UTC; lists and payloads are JSON text.

-- WITHOUT ROWID where rows are short and found by their key alone: one page to write instead of two.

-- Settings of the store itself: cursor_key (64 hex digits).
CREATE TABLE setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE tenant (
    id         TEXT   NOT NULL PRIMARY KEY,
    document   TEXT   NOT NULL,           -- canonical tenant document, defaults not filled in
    seal       TEXT   NOT NULL,           -- HMAC over what the worker must be able to trust
    revision   BIGINT NOT NULL,
    seats_held BIGINT NOT NULL DEFAULT 0, -- number of tasks with seat = 1, kept in the same transactions
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE api_key (
    tenant_id    TEXT     NOT NULL REFERENCES tenant (id),
    username     TEXT     NOT NULL,
    key_hash     TEXT     NOT NULL,       -- SHA-256, lower-case hex
    access_level TEXT     NOT NULL,       -- read-only, full, legacy
    label        TEXT     NOT NULL DEFAULT '',
    rate_limit   TEXT,                    -- "6000/60s"; NULL: the tenant's or the server's
    expires_at   BIGINT   NOT NULL DEFAULT 0,
    disabled     SMALLINT NOT NULL DEFAULT 0,
    created_at   BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, username)
);

CREATE TABLE task (
    id           TEXT     NOT NULL PRIMARY KEY, -- sortable by creation time
    tenant_id    TEXT     NOT NULL REFERENCES tenant (id),
    type         TEXT     NOT NULL,       -- userCreate userUpdate userDelete accessGrant accessRevoke
    state        TEXT     NOT NULL,       -- queued running done failed attention cancelled
    directory    TEXT     NOT NULL,       -- cloud or onPremises: the one whose holds concern this task
    person       TEXT     NOT NULL,       -- folded UPN: the key in user_lock
    object_id    TEXT,                    -- the directory's ID once it is known
    upn          TEXT     NOT NULL,       -- reserved or given UPN as shown to callers
    mail         TEXT,
    display_name TEXT,
    wall_date    TEXT     NOT NULL,       -- YYYY-MM-DD local, with zone: resolved again when zone rules change
    wall_time    TEXT     NOT NULL,       -- HH:mm local
    zone         TEXT     NOT NULL,
    wall_fixed   SMALLINT NOT NULL DEFAULT 1, -- 0: "now" was meant, due_at is not to be resolved again
    due_at       BIGINT   NOT NULL,
    next_at      BIGINT   NOT NULL,       -- when a worker may claim it next; due_at at first
    created_at   BIGINT   NOT NULL,
    started_at   BIGINT   NOT NULL DEFAULT 0, -- first claim
    finished_at  BIGINT   NOT NULL DEFAULT 0,
    attempts     BIGINT   NOT NULL DEFAULT 0, -- tries that counted
    fence        BIGINT   NOT NULL DEFAULT 0, -- fencing number of the present or last lease; only grows
    lease_owner  TEXT,                    -- worker ID while running
    lease_until  BIGINT   NOT NULL DEFAULT 0, -- for people; takers trust heartbeat and their own monotonic clock
    heartbeat    BIGINT   NOT NULL DEFAULT 0, -- grows while the holder lives
    seat         SMALLINT NOT NULL DEFAULT 0, -- 1: holds a seat that the cache does not count yet
    released     SMALLINT NOT NULL DEFAULT 0, -- 1: the brake was released for this task
    marker       TEXT,                    -- unique to the task, persisted before the first create call
    progress     TEXT     NOT NULL DEFAULT '{}', -- what a later try of the run must know
    warnings     TEXT     NOT NULL DEFAULT '[]',
    error        TEXT,                    -- why it failed, or waits
    username     TEXT     NOT NULL,       -- requestedBy
    label        TEXT     NOT NULL DEFAULT ''
);
-- Head of the queue over all directories, and per directory for when the head is all held or blocked.
CREATE INDEX task_due ON task (next_at, id) WHERE state = 'queued';
CREATE INDEX task_due_directory ON task (tenant_id, directory, next_at, id) WHERE state = 'queued';
CREATE INDEX task_order ON task (tenant_id, person, due_at, id) WHERE state = 'queued';
CREATE INDEX task_wall ON task (zone, id) WHERE state = 'queued' AND wall_fixed = 1;
CREATE INDEX task_running ON task (id) WHERE state = 'running';
CREATE INDEX task_offboarding_start ON task (tenant_id, started_at) WHERE type = 'userDelete';
CREATE INDEX task_finished ON task (tenant_id, finished_at) WHERE finished_at > 0;
CREATE INDEX task_list ON task (tenant_id, id, type);
CREATE INDEX task_state ON task (tenant_id, state, id, type);
CREATE INDEX task_person ON task (tenant_id, person, id, type, state);
-- Offboardings of an account, by its ID: their memberships are offered when the person comes back.
CREATE INDEX task_object ON task (tenant_id, object_id, started_at) WHERE type = 'userDelete';
-- Seats of creations whose account may be in the cache already: the marker is on disk before the first create call.
CREATE INDEX task_seat ON task (tenant_id, person) WHERE seat = 1 AND marker IS NOT NULL;

-- Checked create, update or delete values. Apart from the task, because a photo makes them megabytes and every heartbeat rewrites its row.
CREATE TABLE task_payload (
    task_id TEXT NOT NULL PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
    payload TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE task_step (
    task_id    TEXT   NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    position   BIGINT NOT NULL,
    name       TEXT   NOT NULL,           -- createAccount ... or "<workflow>/<position> <type>"
    outcome    TEXT,                      -- done already skipped failed unknown; NULL: not carried out yet
    detail     TEXT,
    at         BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, position)
) WITHOUT ROWID;

-- Memberships that an offboarding found before it took the first one away: what a rehire is offered. restored_by: the task that gave it back.
CREATE TABLE task_membership (
    task_id     TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    directory   TEXT NOT NULL, -- the group's: an offboarding leaves the groups of both
    group_id    TEXT NOT NULL,
    group_name  TEXT NOT NULL,
    retained    TEXT,          -- why it could not be revoked; NULL: it could
    restored_by TEXT,
    PRIMARY KEY (task_id, directory, group_id)
) WITHOUT ROWID;

-- One running task a person: the row exists exactly while a task of that person is running.
CREATE TABLE user_lock (
    tenant_id TEXT NOT NULL,
    person    TEXT NOT NULL,
    task_id   TEXT NOT NULL REFERENCES task (id),
    PRIMARY KEY (tenant_id, person)
) WITHOUT ROWID;

-- Addresses (UPN, mail) promised to creations that are not in the cache yet. address is folded.
CREATE TABLE reservation (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    task_id   TEXT NOT NULL REFERENCES task (id),
    PRIMARY KEY (tenant_id, address)
) WITHOUT ROWID;
CREATE INDEX reservation_task ON reservation (task_id);

-- Health of one directory of one tenant as the workers see it, and what administrators ask of its sync.
CREATE TABLE directory_state (
    tenant_id             TEXT     NOT NULL REFERENCES tenant (id),
    directory             TEXT     NOT NULL,
    hold_reason           TEXT,               -- NULL: not held
    hold_since            BIGINT   NOT NULL DEFAULT 0,
    hold_until            BIGINT   NOT NULL DEFAULT 0, -- the next probe may go then, one at a time
    hold_failures         BIGINT   NOT NULL DEFAULT 0,
    hold_alarm_at         BIGINT   NOT NULL DEFAULT 0, -- last time the 15-minute alarm was raised
    sync_requested_at     BIGINT   NOT NULL DEFAULT 0, -- idadminctl sync
    sync_accept_deletions SMALLINT NOT NULL DEFAULT 0,
    sync_reset            SMALLINT NOT NULL DEFAULT 0, -- idadminctl cache reset
    sync_owner            TEXT,               -- worker that syncs it now
    sync_fence            BIGINT   NOT NULL DEFAULT 0,
    sync_heartbeat        BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, directory)
) WITHOUT ROWID;
CREATE INDEX directory_state_held ON directory_state (hold_until) WHERE hold_reason IS NOT NULL;

-- Workers that were seen, for `idadminctl status`.
CREATE TABLE worker (
    id         TEXT   NOT NULL PRIMARY KEY,
    host       TEXT   NOT NULL,
    pid        BIGINT NOT NULL,
    version    TEXT   NOT NULL,
    threads    BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

CREATE TABLE role_template (
    tenant_id   TEXT NOT NULL REFERENCES tenant (id),
    id          TEXT NOT NULL,
    name        TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    groups      TEXT NOT NULL DEFAULT '[]',
    licenses    TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE role_assignment (
    tenant_id   TEXT   NOT NULL,
    template_id TEXT   NOT NULL,
    person      TEXT   NOT NULL,
    upn         TEXT   NOT NULL,        -- as given
    user_id     TEXT,
    assigned_at BIGINT NOT NULL,
    assigned_by TEXT   NOT NULL,
    task_id     TEXT,
    PRIMARY KEY (tenant_id, template_id, person),
    FOREIGN KEY (tenant_id, template_id) REFERENCES role_template (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX role_assignment_person ON role_assignment (tenant_id, person);
CREATE INDEX role_assignment_user ON role_assignment (tenant_id, user_id);

CREATE TABLE access_service (
    tenant_id  TEXT NOT NULL REFERENCES tenant (id),
    name       TEXT NOT NULL,
    group_name TEXT NOT NULL,
    approvers  TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE access_request (
    tenant_id     TEXT   NOT NULL REFERENCES tenant (id),
    id            TEXT   NOT NULL,
    service       TEXT   NOT NULL,
    group_name    TEXT   NOT NULL,
    group_id      TEXT,
    person        TEXT   NOT NULL,
    upn           TEXT   NOT NULL,
    user_id       TEXT,
    justification TEXT   NOT NULL DEFAULT '',
    approvers     TEXT   NOT NULL DEFAULT '[]',
    state         TEXT   NOT NULL,        -- open approved denied; withdrawn (was open), ended (was approved)
    requested_at  BIGINT NOT NULL,
    decided_at    BIGINT NOT NULL DEFAULT 0,
    decided_by    TEXT,
    ended_at      BIGINT NOT NULL DEFAULT 0, -- withdrawn or ended
    task_id       TEXT,                   -- that carries it out
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX access_request_open ON access_request (tenant_id, requested_at, id) WHERE state = 'open';
CREATE INDEX access_request_person ON access_request (tenant_id, person);
CREATE INDEX access_request_user ON access_request (tenant_id, user_id);

-- What templates and requests have put into whose hands, so that their removal takes away that and no more. The row is on disk before the
-- first call, so that a repetition knows its own work from what stood there before.
CREATE TABLE access_grant (
    tenant_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    user_id   TEXT NOT NULL, -- the account in that directory
    kind      TEXT NOT NULL, -- group license
    item      TEXT NOT NULL, -- ID of the group, name of the licence
    source    TEXT NOT NULL, -- template request
    source_id TEXT NOT NULL,
    name      TEXT NOT NULL, -- of the item, for people
    state     TEXT NOT NULL, -- sent: a call may have been made; added: by this service; stood: it was so before
    task_id   TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, directory, user_id, kind, item, source, source_id)
) WITHOUT ROWID;

CREATE TABLE workflow (
    tenant_id    TEXT     NOT NULL REFERENCES tenant (id),
    id           TEXT     NOT NULL,       -- kept while the name is
    name         TEXT     NOT NULL,
    position     BIGINT   NOT NULL,       -- order in the document
    trigger_type TEXT     NOT NULL,       -- userCreate userUpdate userDelete
    active       SMALLINT NOT NULL DEFAULT 1,
    actions      TEXT     NOT NULL DEFAULT '[]',
    PRIMARY KEY (tenant_id, name)
);

-- Runs belong to a name, not to a workflow row: history under a former name stays there.
CREATE TABLE workflow_run (
    id          TEXT   NOT NULL PRIMARY KEY,
    tenant_id   TEXT   NOT NULL,
    workflow    TEXT   NOT NULL,
    event_type  TEXT   NOT NULL,
    task_id     TEXT   NOT NULL,
    upn         TEXT   NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL DEFAULT 0,
    status      TEXT   NOT NULL,
    UNIQUE (task_id, workflow)
);
CREATE INDEX workflow_run_name ON workflow_run (tenant_id, workflow, started_at, id);

CREATE TABLE workflow_run_action (
    run_id      TEXT   NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    position    BIGINT NOT NULL,
    type        TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    started_at  BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    error       TEXT,
    PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

-- First answers of writes under an Idempotency-Key, kept in the write's own transaction; path and method are the door's.
CREATE TABLE idempotency (
    tenant_id    TEXT   NOT NULL,
    username     TEXT   NOT NULL,
    method       TEXT   NOT NULL,
    path         TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    request_hash TEXT   NOT NULL, -- SHA-256 of query and body, lower-case hex
    answer       TEXT   NOT NULL, -- `data` as JSON
    location     TEXT,            -- header Location, below the base
    task_id      TEXT,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, username, method, path, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Audit records on their way: written in the transaction they tell of, moved to audit.record by the worker. rid makes the move repeatable.
CREATE TABLE audit_outbox (
    rid       TEXT   NOT NULL PRIMARY KEY, -- sortable by time
    tenant_id TEXT   NOT NULL,
    record    TEXT   NOT NULL
) WITHOUT ROWID;
