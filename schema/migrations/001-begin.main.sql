-- The main file: the data that callers rely on. Durable; httpd's writer, the worker and idadminctl
-- write it. Types are TEXT, BIGINT and SMALLINT. Instants are milliseconds since 1970-01-01 UTC;
-- lists and payloads are JSON text. A number that is a flag is 0 or 1. In data of a tenant,
-- tenant_id comes first in every primary, unique and foreign key, so that rows of one company can
-- be partitioned or moved (t/unit/db/tenants.c).

-- Settings of the store itself: cursor_key (64 hex digits).
CREATE TABLE setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE tenant (
    id         TEXT   NOT NULL PRIMARY KEY,
    document   TEXT   NOT NULL,           -- canonical tenant document without defaults
    seal       TEXT   NOT NULL,           -- HMAC over the data that the worker must trust
    revision   BIGINT NOT NULL,
    seats_held BIGINT NOT NULL DEFAULT 0, -- number of tasks with seat = 1, set with them
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE api_key (
    tenant_id    TEXT     NOT NULL REFERENCES tenant (id),
    username     TEXT     NOT NULL,
    key_hash     TEXT     NOT NULL,           -- SHA-256, lower-case hex
    access_level TEXT     NOT NULL,           -- read-only, full, legacy
    label        TEXT     NOT NULL DEFAULT '',
    rate_limit   TEXT,                        -- "6000/60s"; NULL: the tenant's or the server's
    concurrency  SMALLINT NOT NULL DEFAULT 0, -- simultaneous requests; 0: no limit
    scopes       TEXT,                        -- of a read-only key, separated by commas; NULL: all
    decisions    SMALLINT NOT NULL DEFAULT 0, -- 1: carries approvers' decisions
    allowed_from TEXT,                        -- networks (core/base/network.c); NULL: anywhere
    expires_at   BIGINT   NOT NULL DEFAULT 0,
    disabled     SMALLINT NOT NULL DEFAULT 0,
    created_at   BIGINT   NOT NULL,
    created_by   TEXT,                        -- signed-in name or operating-system user
    PRIMARY KEY (tenant_id, username)
);

-- A person is the directory's ID, never an address, because an address may be given to another
-- person. who: the ID of the account where the person is mastered or, until a creation has made the
-- account, the folded UPN. Order, locks and lookups use it.
CREATE TABLE task (
    tenant_id    TEXT     NOT NULL REFERENCES tenant (id),
    id           TEXT     NOT NULL,       -- sortable by creation time
    type         TEXT     NOT NULL,       -- userCreate userUpdate userDelete accessGrant
                                  -- accessRevoke
    state        TEXT     NOT NULL,       -- queued running done failed attention cancelled
    directory    TEXT     NOT NULL,       -- cloud or onPremises: its holds concern this task
    who          TEXT     NOT NULL DEFAULT '',
    person       TEXT     NOT NULL,       -- folded UPN that the request named
    object_id    TEXT,                    -- the directory's ID, once known
    upn          TEXT     NOT NULL,       -- reserved or given UPN as shown to callers
    mail         TEXT,
    display_name TEXT,
    employee_id  TEXT,                    -- folded; a second creation with it is refused while open
    disables     SMALLINT NOT NULL DEFAULT 0, -- 1: it disables an account, so the brake counts it
    wall_date    TEXT     NOT NULL,       -- YYYY-MM-DD local; zone rules may move the instant
    wall_time    TEXT     NOT NULL,       -- HH:mm local
    zone         TEXT     NOT NULL,
    wall_fixed   SMALLINT NOT NULL DEFAULT 1, -- 0: "now" was meant, due_at stays
    due_at       BIGINT   NOT NULL,
    next_at      BIGINT   NOT NULL,       -- when a worker may claim it next; due_at at first
    created_at   BIGINT   NOT NULL,
    started_at   BIGINT   NOT NULL DEFAULT 0, -- first claim
    finished_at  BIGINT   NOT NULL DEFAULT 0,
    attempts     BIGINT   NOT NULL DEFAULT 0, -- attempts that counted
    fence        BIGINT   NOT NULL DEFAULT 0, -- fencing number of the newest lease; only grows
    lease_owner  TEXT,                        -- worker ID while running
    lease_until  BIGINT   NOT NULL DEFAULT 0, -- for display; workers trust the heartbeat
    heartbeat    BIGINT   NOT NULL DEFAULT 0, -- grows while the holder lives
    seat         SMALLINT NOT NULL DEFAULT 0, -- 1: holds a seat that the cache does not count yet
    released     TEXT,                    -- the brake was released for this task: a proof under
                                  -- the seal key
    marker       TEXT,                    -- unique to the task, on disk before the first call
                                  -- that creates
    progress     TEXT     NOT NULL DEFAULT '{}', -- state for a later attempt of the run
    warnings     TEXT     NOT NULL DEFAULT '[]',
    error        TEXT,                    -- why it failed, or waits
    username     TEXT     NOT NULL,       -- requestedBy
    label        TEXT     NOT NULL DEFAULT '',
    via          TEXT     NOT NULL DEFAULT 'rest', -- rest console command workflow
    change       TEXT,                    -- audit action of the last change by a person, if any
    change_by    TEXT,
    change_at    BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id)
);
-- Head of the queue over all directories; and of one, for when all of that head is held or blocked.
CREATE INDEX task_due ON task (next_at, id) WHERE state = 'queued';
CREATE INDEX task_due_directory ON task (tenant_id, directory, next_at, id) WHERE state = 'queued';
CREATE INDEX task_order ON task (tenant_id, who, due_at, id) WHERE state = 'queued';
CREATE INDEX task_wall ON task (zone, id) WHERE state = 'queued' AND wall_fixed = 1;
CREATE INDEX task_running ON task (id) WHERE state = 'running';
CREATE INDEX task_disabling_start ON task (tenant_id, started_at) WHERE disables = 1;
CREATE INDEX task_finished ON task (tenant_id, finished_at) WHERE finished_at > 0;
CREATE INDEX task_list ON task (tenant_id, id, type);
CREATE INDEX task_state ON task (tenant_id, state, id, type);
CREATE INDEX task_who ON task (tenant_id, who, id, type, state);
-- Tasks requested under an address, with their person.
CREATE INDEX task_address ON task (tenant_id, person, state, who);
-- Offboardings of an account, by its ID: a returning person is offered their memberships.
CREATE INDEX task_object ON task (tenant_id, object_id, started_at) WHERE type = 'userDelete';
-- Runs that gave memberships to an account.
CREATE INDEX task_account ON task (object_id, tenant_id) WHERE object_id IS NOT NULL;
-- Seats of creations whose account may be in the cache already, because their marker is set.
CREATE INDEX task_seat ON task (tenant_id, who) WHERE seat = 1 AND marker IS NOT NULL;
CREATE INDEX task_employee ON task (tenant_id, employee_id)
    WHERE employee_id IS NOT NULL AND state IN ('queued', 'running', 'attention');
-- Lists and days by due time; joiners and leavers by month; how punctually tasks began.
CREATE INDEX task_state_due ON task (tenant_id, state, due_at, id, type);
CREATE INDEX task_done ON task (tenant_id, type, finished_at) WHERE state = 'done';
CREATE INDEX task_started ON task (tenant_id, started_at) WHERE started_at > 0;

-- Checked values of a creation, an update or an offboarding. Apart from the task, because each
-- heartbeat rewrites the task's row and a photo makes the values megabytes long.
CREATE TABLE task_payload (
    tenant_id TEXT   NOT NULL,
    task_id   TEXT   NOT NULL,
    payload   TEXT   NOT NULL,
    bytes     BIGINT NOT NULL DEFAULT 0, -- length of payload, for the company's budget
    PRIMARY KEY (tenant_id, task_id),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
) COMPACT;
CREATE INDEX task_payload_large ON task_payload (tenant_id, task_id, bytes) WHERE bytes >= 4096;

CREATE TABLE task_step (
    tenant_id         TEXT   NOT NULL,
    task_id           TEXT   NOT NULL,
    position          BIGINT NOT NULL,
    name              TEXT   NOT NULL,           -- of the step, or the type of a workflow's action
    workflow          TEXT,                      -- of an action; NULL: a step of the task
    workflow_position BIGINT NOT NULL DEFAULT 0, -- of the action, from 1
    account           TEXT,                      -- directory of its account; NULL: the task's
    outcome           TEXT,                      -- done already skipped failed unknown; NULL: open
    detail            TEXT,
    at                BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, task_id, position),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
) COMPACT;

-- Memberships that an offboarding found before it revoked the first one, and those it revoked: a
-- rehire is offered these, and answers list them.
CREATE TABLE task_membership (
    tenant_id   TEXT   NOT NULL,
    task_id     TEXT   NOT NULL,
    directory   TEXT   NOT NULL,                 -- the group's: an offboarding covers both
    group_id    TEXT   NOT NULL,
    group_name  TEXT   NOT NULL,
    kind        TEXT   NOT NULL DEFAULT 'group', -- group license
    position    BIGINT NOT NULL DEFAULT 0,       -- step of the action that revoked it; 0: the sweep
    retained    TEXT,                            -- why it could not be revoked; NULL: it could
    revoked_at  BIGINT NOT NULL DEFAULT 0,
    refused     TEXT,                            -- why the directory refused to revoke it
    restored_by TEXT,                            -- task that restored it
    PRIMARY KEY (tenant_id, task_id, directory, group_id),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
) COMPACT;

-- One running task for each person: the row exists exactly while one is running. person: the
-- task's who.
CREATE TABLE user_lock (
    tenant_id TEXT NOT NULL,
    person    TEXT NOT NULL,
    task_id   TEXT NOT NULL,
    PRIMARY KEY (tenant_id, person),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id)
) COMPACT;

-- Addresses (UPN, mail), folded, that are reserved for creations and not in the cache yet.
CREATE TABLE reservation (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    task_id   TEXT NOT NULL,
    PRIMARY KEY (tenant_id, address),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id)
) COMPACT;
CREATE INDEX reservation_task ON reservation (tenant_id, task_id);

-- Health of a directory as the workers see it, and what administrators ask of its synchronisation.
CREATE TABLE directory_state (
    tenant_id             TEXT     NOT NULL REFERENCES tenant (id),
    directory             TEXT     NOT NULL,
    hold_reason           TEXT,                        -- NULL: not held
    hold_since            BIGINT   NOT NULL DEFAULT 0,
    hold_until            BIGINT   NOT NULL DEFAULT 0, -- when the next probe may start, one only
    hold_failures         BIGINT   NOT NULL DEFAULT 0,
    hold_alarm_at         BIGINT   NOT NULL DEFAULT 0, -- last 15-minute alarm
    sync_requested_at     BIGINT   NOT NULL DEFAULT 0, -- idadminctl sync
    sync_accept_deletions SMALLINT NOT NULL DEFAULT 0,
    sync_reset            SMALLINT NOT NULL DEFAULT 0, -- idadminctl cache reset
    sync_owner            TEXT,                        -- worker that synchronises it now
    sync_fence            BIGINT   NOT NULL DEFAULT 0,
    sync_heartbeat        BIGINT   NOT NULL DEFAULT 0,
    secret_expires_at     BIGINT   NOT NULL DEFAULT 0, -- of the workers' certificate, as one of
                                                       -- them read it; 0: none, or not read
    PRIMARY KEY (tenant_id, directory)
) COMPACT;
CREATE INDEX directory_state_held ON directory_state (hold_until) WHERE hold_reason IS NOT NULL;

-- The last check of a directory that a person asked the workers for, and its result.
CREATE TABLE directory_check (
    tenant_id    TEXT   NOT NULL,
    directory    TEXT   NOT NULL,
    requested_at BIGINT NOT NULL,
    started_at   BIGINT NOT NULL DEFAULT 0,
    finished_at  BIGINT NOT NULL DEFAULT 0,
    worker       TEXT,                       -- that executes it, or did
    lines        TEXT   NOT NULL DEFAULT '[]', -- JSON: [{check, ok, detail}]
    PRIMARY KEY (tenant_id, directory)
) COMPACT;
CREATE INDEX directory_check_waiting ON directory_check (requested_at) WHERE started_at = 0;

-- Workers and their last signs of life.
CREATE TABLE worker (
    id         TEXT   NOT NULL PRIMARY KEY,
    host       TEXT   NOT NULL,
    pid        BIGINT NOT NULL,
    version    TEXT   NOT NULL,
    threads    BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    fault      TEXT                       -- why it takes no work; NULL: it takes work
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

-- One assignment of a template for each person, not for each address.
CREATE TABLE role_assignment (
    tenant_id   TEXT   NOT NULL,
    template_id TEXT   NOT NULL,
    who         TEXT   NOT NULL,        -- user_id if known, else person
    person      TEXT   NOT NULL,        -- folded UPN at that time
    upn         TEXT   NOT NULL,        -- as given
    user_id     TEXT,
    assigned_at BIGINT NOT NULL,
    assigned_by TEXT   NOT NULL,
    task_id     TEXT,
    PRIMARY KEY (tenant_id, template_id, who),
    FOREIGN KEY (tenant_id, template_id) REFERENCES role_template (tenant_id, id)
) COMPACT;
-- Covering indexes for attribution.
CREATE INDEX role_assignment_person ON role_assignment (tenant_id, person, user_id);
CREATE INDEX role_assignment_user ON role_assignment (tenant_id, user_id, person);
CREATE INDEX role_assignment_who ON role_assignment (tenant_id, who);

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
    state         TEXT   NOT NULL, -- open approved denied; withdrawn (was open), ended (was
                                             -- approved)
    requested_at  BIGINT NOT NULL,
    decided_at    BIGINT NOT NULL DEFAULT 0,
    decided_by    TEXT,
    reason        TEXT,                      -- of the decision
    ended_at      BIGINT NOT NULL DEFAULT 0, -- withdrawn or ended
    task_id       TEXT,                      -- that carries it out
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX access_request_open ON access_request (tenant_id, requested_at, id)
    WHERE state = 'open';
CREATE INDEX access_request_person ON access_request (tenant_id, person);
CREATE INDEX access_request_user ON access_request (tenant_id, user_id);

-- Memberships and licences that templates and requests granted, so that their removal revokes those
-- and no more. The row is on disk before the first call, so that a repetition can distinguish its
-- own work from what the directory had before.
CREATE TABLE access_grant (
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    user_id   TEXT   NOT NULL, -- the account in that directory
    kind      TEXT   NOT NULL, -- group license
    item      TEXT   NOT NULL, -- ID of the group, name of the licence
    source    TEXT   NOT NULL, -- template request
    source_id TEXT   NOT NULL,
    name      TEXT   NOT NULL, -- of the item, for people
    state     TEXT   NOT NULL, -- sent: a call may have been made; added: by this service; stood:
                               -- the directory had it before
    task_id   TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, directory, user_id, kind, item, source, source_id)
) COMPACT;

-- The last time that a synchronisation or a task saw an account without a membership: what granted
-- it before does not grant it any more. Stored only for accounts to which this service granted
-- something.
CREATE TABLE access_end (
    tenant_id TEXT   NOT NULL REFERENCES tenant (id),
    user_id   TEXT   NOT NULL, -- the account in that directory
    group_id  TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, group_id, directory)
) COMPACT;

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

-- Runs belong to a name, not to a workflow's row: history under a former name stays there.
CREATE TABLE workflow_run (
    tenant_id   TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    workflow    TEXT   NOT NULL,
    event_type  TEXT   NOT NULL,
    task_id     TEXT   NOT NULL,
    upn         TEXT   NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL DEFAULT 0,
    status      TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, task_id, workflow)
);
CREATE INDEX workflow_run_name ON workflow_run (tenant_id, workflow, started_at, id);
CREATE INDEX workflow_run_time ON workflow_run (tenant_id, started_at, id);

CREATE TABLE workflow_run_action (
    tenant_id   TEXT   NOT NULL,
    run_id      TEXT   NOT NULL,
    position    BIGINT NOT NULL,
    type        TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    started_at  BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    error       TEXT,
    PRIMARY KEY (tenant_id, run_id, position),
    FOREIGN KEY (tenant_id, run_id) REFERENCES workflow_run (tenant_id, id) ON DELETE CASCADE
) COMPACT;

-- First answers of writes under an Idempotency-Key, kept in the write's own transaction; path and
-- method are those of the request.
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

-- Audit records before ingestion: written in the transaction that they record, moved to
-- audit.record by the worker. rid makes the move repeatable. Companies take turns: the next one,
-- and its oldest records.
CREATE TABLE audit_outbox (
    tenant_id TEXT NOT NULL,
    rid       TEXT NOT NULL, -- sortable by time
    record    TEXT NOT NULL,
    proof     TEXT, -- under the seal key: the record is this service's
    PRIMARY KEY (tenant_id, rid)
) COMPACT;

-- Requests to verify a tenant's chain of audit records from the beginning; the result is in
-- audit.verified, which only the worker writes.
CREATE TABLE audit_check (
    tenant_id    TEXT   NOT NULL PRIMARY KEY REFERENCES tenant (id),
    requested_at BIGINT NOT NULL DEFAULT 0 -- 0: none
);

-- Ends of tasks, for receivers and readers: a row each time a task is done, failed or needs
-- attention.
CREATE TABLE event (
    tenant_id TEXT   NOT NULL REFERENCES tenant (id),
    seq       BIGINT NOT NULL,            -- of event_counter, in the order of commits
    id        TEXT   NOT NULL,            -- by which receivers recognise a repetition
    type      TEXT   NOT NULL,            -- task.done task.failed task.attention
    task_id   TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    error     TEXT,                       -- as it was then; the rest is the task's
    body      TEXT,                       -- the event as the worker wrote it
    proof     TEXT,                       -- of body under the seal key; without it, it is not sent
    PRIMARY KEY (tenant_id, seq),
    FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
) COMPACT;
CREATE INDEX event_task ON event (tenant_id, task_id);

-- The last number of each tenant. The transaction that takes the next one holds the row until its
-- commit, so that numbers become visible in their order, without gaps.
CREATE TABLE event_counter (
    tenant_id TEXT   NOT NULL PRIMARY KEY REFERENCES tenant (id),
    last      BIGINT NOT NULL
) COMPACT;

-- Receivers, as documents name them, and the results of their calls. A receiver that no document
-- names any more stays, without new events, until its remaining events are sent.
CREATE TABLE notification (
    tenant_id TEXT   NOT NULL REFERENCES tenant (id),
    url       TEXT   NOT NULL,
    events    TEXT   NOT NULL,            -- ",task.done,task.failed,": those it wants
    failures  BIGINT NOT NULL DEFAULT 0,  -- calls in a row that failed
    next_at   BIGINT NOT NULL DEFAULT 0,  -- it is not called before
    served_at BIGINT NOT NULL DEFAULT 0,  -- last turn: the one that has waited longest is next
    owner     TEXT,                       -- worker that calls it now
    fence     BIGINT NOT NULL DEFAULT 0,  -- grows with each write of the owner, and with each owner
    PRIMARY KEY (tenant_id, url)
) COMPACT;

-- Events that a receiver has not accepted yet. person, object_id: of the event; one person's events
-- keep their order by either.
CREATE TABLE event_delivery (
    tenant_id   TEXT   NOT NULL,
    url         TEXT   NOT NULL,
    seq         BIGINT NOT NULL,
    person      TEXT   NOT NULL,
    object_id   TEXT,
    tries       BIGINT NOT NULL DEFAULT 0,
    next_at     BIGINT NOT NULL DEFAULT 0,
    failed_at   BIGINT NOT NULL DEFAULT 0, -- first call that failed
    given_up_at BIGINT NOT NULL DEFAULT 0, -- 0: it waits
    error       TEXT,                      -- of the last call
    PRIMARY KEY (tenant_id, url, seq),
    FOREIGN KEY (tenant_id, seq) REFERENCES event (tenant_id, seq) ON DELETE CASCADE
) COMPACT;
CREATE INDEX event_delivery_event ON event_delivery (tenant_id, seq);
CREATE INDEX event_delivery_next ON event_delivery (tenant_id, url, tries, seq)
    WHERE given_up_at = 0;
CREATE INDEX event_delivery_person ON event_delivery (tenant_id, url, person, seq)
    WHERE given_up_at = 0;
CREATE INDEX event_delivery_object ON event_delivery (tenant_id, url, object_id, seq)
    WHERE given_up_at = 0;
