-- What became of tasks, for whoever is told of it or asks: a row for each time a task is done, has failed or needs attention.
CREATE TABLE event (
    tenant_id TEXT COLLATE "C"   NOT NULL REFERENCES tenant (id),
    seq       BIGINT NOT NULL,            -- the tenant's own numbers, dealt in the order of commits: event_counter
    id        TEXT COLLATE "C"   NOT NULL,            -- what receivers know a repetition by
    type      TEXT COLLATE "C"   NOT NULL,            -- task.done task.failed task.attention
    task_id   TEXT COLLATE "C"   NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    at        BIGINT NOT NULL,
    error     TEXT COLLATE "C",                       -- why, as it was then; the rest is the task's
    PRIMARY KEY (tenant_id, seq)
);
CREATE INDEX event_task ON event (task_id);

-- The last number of each tenant. Whoever takes the next one holds the row until its commit, so that numbers become visible in their order, without gaps.
CREATE TABLE event_counter (
    tenant_id TEXT COLLATE "C"   NOT NULL PRIMARY KEY REFERENCES tenant (id),
    last      BIGINT NOT NULL
);

-- Who is told, as the documents say, and how the calls of each went. A receiver that a document names no more stays, without events, for what it was not told yet.
CREATE TABLE notification (
    tenant_id TEXT COLLATE "C"   NOT NULL REFERENCES tenant (id),
    url       TEXT COLLATE "C"   NOT NULL,
    events    TEXT COLLATE "C"   NOT NULL,            -- ",task.done,task.failed,": those it wants
    failures  BIGINT NOT NULL DEFAULT 0,  -- calls in a row that were not taken
    next_at   BIGINT NOT NULL DEFAULT 0,  -- it is not called before
    served_at BIGINT NOT NULL DEFAULT 0,  -- when a worker turned to it last: who has waited longest is next
    owner     TEXT COLLATE "C",                       -- worker that calls it now
    fence     BIGINT NOT NULL DEFAULT 0,  -- grows with each write of the owner, and with each owner
    PRIMARY KEY (tenant_id, url)
);

-- What a receiver has not taken yet. person, object_id: whose event it is, by either, which keeps one person's events in order.
CREATE TABLE event_delivery (
    tenant_id   TEXT COLLATE "C"   NOT NULL,
    url         TEXT COLLATE "C"   NOT NULL,
    seq         BIGINT NOT NULL,
    person      TEXT COLLATE "C"   NOT NULL,
    object_id   TEXT COLLATE "C",
    tries       BIGINT NOT NULL DEFAULT 0,
    next_at     BIGINT NOT NULL DEFAULT 0,
    failed_at   BIGINT NOT NULL DEFAULT 0, -- its first call that was not taken
    given_up_at BIGINT NOT NULL DEFAULT 0, -- 0: it waits
    error       TEXT COLLATE "C",                      -- of the last call
    PRIMARY KEY (tenant_id, url, seq),
    FOREIGN KEY (tenant_id, seq) REFERENCES event (tenant_id, seq) ON DELETE CASCADE
);
CREATE INDEX event_delivery_event ON event_delivery (tenant_id, seq);
CREATE INDEX event_delivery_next ON event_delivery (tenant_id, url, tries, seq) WHERE given_up_at = 0;
CREATE INDEX event_delivery_person ON event_delivery (tenant_id, url, person, seq) WHERE given_up_at = 0;
CREATE INDEX event_delivery_object ON event_delivery (tenant_id, url, object_id, seq) WHERE given_up_at = 0;
