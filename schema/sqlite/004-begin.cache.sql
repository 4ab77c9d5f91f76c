-- The cache file: what the directories hold, as of the last sync and the worker's own writes. Another version is emptied and synced again,
-- never migrated. Written by sync connections alone. Rows carry the run that was newest when they changed and the time of the worker's last own write.

-- Indexes of one key begin with it: without statistics PostgreSQL takes tenant and directory for selective and any index that begins with them for
-- as good as the right one.
CREATE TABLE cache.directory_user (
    tenant_id                TEXT     NOT NULL,
    directory                TEXT     NOT NULL, -- cloud, onPremises
    id                       TEXT     NOT NULL, -- immutable: Graph id, objectGUID, entryUUID
    upn                      TEXT,              -- NULL: the entry has none and cannot be addressed by it
    upn_key                  TEXT,              -- folded
    mail                     TEXT,
    mail_key                 TEXT,
    display_name             TEXT,
    name_key                 TEXT     NOT NULL DEFAULT '', -- folded display name: order of lists
    given_name               TEXT,
    surname                  TEXT,
    department               TEXT,
    department_key           TEXT,
    search_key               TEXT     NOT NULL DEFAULT '', -- folded words of names and addresses, each beginning marked
    job_title                TEXT,
    company                  TEXT,
    office                   TEXT,
    city                     TEXT,
    country                  TEXT,
    employee_id              TEXT,
    enabled                  SMALLINT NOT NULL DEFAULT 1,
    guest                    SMALLINT NOT NULL DEFAULT 0,
    created_at               BIGINT   NOT NULL DEFAULT 0,
    last_sign_in_at          BIGINT   NOT NULL DEFAULT 0, -- 0: never or not recorded
    last_noninteractive_at   BIGINT   NOT NULL DEFAULT 0,
    last_success_at          BIGINT   NOT NULL DEFAULT 0,
    manager_id               TEXT,
    manager_ref              TEXT,              -- DN key of a manager that was not in the cache when seen; resolved at the end of a run
    addresses                TEXT     NOT NULL DEFAULT '', -- record of those in cache.address
    licenses                 TEXT     NOT NULL DEFAULT '[]', -- names, a sorted JSON array
    dn                       TEXT,
    dn_key                   TEXT,              -- normalised DN: resolver of DN-valued links, never an identity
    dn_run                   BIGINT   NOT NULL DEFAULT 0, -- run that brought the DN; 0: the first load did
    anchor                   TEXT,              -- onPremisesImmutableId or consistency GUID: joins the two directories
    shadow                   SMALLINT NOT NULL DEFAULT 0, -- 1: of the premises, and the cloud has the person too: lists show that row
    run                      BIGINT   NOT NULL DEFAULT 0, -- newest run when it was changed or written through
    written_at               BIGINT   NOT NULL DEFAULT 0, -- last write-through
    stamp                    TEXT,              -- the directory's own stamp (entryCSN, uSNChanged)
    digest                   TEXT     NOT NULL DEFAULT '', -- of the item last applied in full; '' = apply the next one
    late                     TEXT,              -- item that contradicted a write-through, kept until the protection ends; '' = a deletion
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE INDEX cache.directory_user_upn ON directory_user (upn_key, tenant_id);
CREATE INDEX cache.directory_user_dn ON directory_user (dn_key, tenant_id, directory, id) WHERE dn_key IS NOT NULL; -- all that a member's DN is looked up for
CREATE INDEX cache.directory_user_manager ON directory_user (manager_id) WHERE manager_id IS NOT NULL;
CREATE INDEX cache.directory_user_waiting ON directory_user (manager_ref, tenant_id, directory) WHERE manager_id IS NULL AND manager_ref IS NOT NULL;
CREATE INDEX cache.directory_user_anchor ON directory_user (anchor, tenant_id) WHERE anchor IS NOT NULL;
CREATE INDEX cache.directory_user_employee ON directory_user (employee_id, tenant_id) WHERE employee_id IS NOT NULL; -- a rehire asks
CREATE INDEX cache.directory_user_late ON directory_user (tenant_id, directory, id) WHERE late IS NOT NULL;
CREATE INDEX cache.directory_user_again ON directory_user (tenant_id, directory, id) WHERE digest = '';
CREATE INDEX cache.directory_user_moved ON directory_user (tenant_id, directory, dn_run) WHERE dn_run > 0;
-- Lists of people. The first one holds all that a search looks at: rows are read for the page alone.
CREATE INDEX cache.directory_user_list ON directory_user (tenant_id, name_key, id, directory, enabled, guest, last_sign_in_at, department_key, search_key, shadow) WHERE shadow = 0;
CREATE INDEX cache.directory_user_idle ON directory_user (tenant_id, guest, (COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at)), id)
    WHERE shadow = 0 AND enabled = 1;
CREATE INDEX cache.directory_user_unmanaged ON directory_user (tenant_id, name_key, id)
    WHERE shadow = 0 AND enabled = 1 AND guest = 0 AND manager_id IS NULL AND manager_ref IS NULL;

-- Every address by which somebody or something can be reached, besides the UPN: mail and proxy addresses that differ from it; folded.
CREATE TABLE cache.address (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    directory TEXT NOT NULL,
    owner_id  TEXT NOT NULL
);
CREATE UNIQUE INDEX cache.address_key ON address (tenant_id, address, directory, owner_id);

CREATE TABLE cache.directory_group (
    tenant_id    TEXT   NOT NULL,
    directory    TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    no           BIGINT NOT NULL,         -- entry
    name         TEXT   NOT NULL,
    name_key     TEXT   NOT NULL,
    kind         TEXT   NOT NULL,         -- security microsoft365 distribution dynamic
    description  TEXT,
    dn           TEXT,
    dn_key       TEXT,
    dn_run       BIGINT NOT NULL DEFAULT 0,   -- as of users
    rule         TEXT,                    -- dynamic membership rule
    synced       SMALLINT NOT NULL DEFAULT 0, -- 1: mastered in the other directory
    member_count BIGINT NOT NULL DEFAULT 0,   -- direct members without the placeholder
    run          BIGINT NOT NULL DEFAULT 0,
    written_at   BIGINT NOT NULL DEFAULT 0,
    stamp        TEXT,
    digest       TEXT   NOT NULL DEFAULT '', -- of attributes and member list; set when all members are in
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE UNIQUE INDEX cache.directory_group_no ON directory_group (no);
CREATE INDEX cache.directory_group_name ON directory_group (name_key, tenant_id, id);
CREATE INDEX cache.directory_group_dn ON directory_group (dn_key, tenant_id, directory);
CREATE INDEX cache.directory_group_moved ON directory_group (tenant_id, directory, dn_run) WHERE dn_run > 0;
CREATE INDEX cache.directory_group_empty ON directory_group (tenant_id, name_key, id) WHERE member_count = 0;

-- Numbers in place of IDs, for memberships: a million rows of four long texts are mostly text. An ID gets its number when a membership or a group
-- first needs one, whether or not the cache holds such an entry, and keeps it until a run finds that nothing bears it.
CREATE TABLE cache.entry (
    no        BIGINT NOT NULL,
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    id        TEXT   NOT NULL,
    PRIMARY KEY (no)
) WITHOUT ROWID;
CREATE UNIQUE INDEX cache.entry_id ON entry (tenant_id, directory, id);

-- Direct memberships.
CREATE TABLE cache.membership (
    group_no     BIGINT   NOT NULL,           -- entry
    member_no    BIGINT   NOT NULL,           -- entry
    nested       SMALLINT NOT NULL,           -- 1: the member is a group
    listed       BIGINT   NOT NULL DEFAULT 0, -- run that named it last: what a whole list did not name goes
    run          BIGINT   NOT NULL DEFAULT 0, -- newest run when it was written through
    written_at   BIGINT   NOT NULL DEFAULT 0,
    removed      SMALLINT NOT NULL DEFAULT 0, -- 1: the worker removed it; kept while a late page could still contradict
    contradicted SMALLINT NOT NULL DEFAULT 0, -- 1: the directory's last word within the protection was the opposite
    PRIMARY KEY (group_no, member_no)
) WITHOUT ROWID;
CREATE INDEX cache.membership_member ON membership (member_no);
CREATE INDEX cache.membership_nested ON membership (group_no, member_no) WHERE nested = 1 AND removed = 0;
CREATE INDEX cache.membership_written ON membership (written_at) WHERE written_at > 0;

-- Members named by a DN that no cached entry has (yet): becomes a membership when the entry appears.
CREATE TABLE cache.unresolved_member (
    tenant_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    group_id  TEXT NOT NULL,
    dn_key    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, directory, group_id, dn_key)
) WITHOUT ROWID;
CREATE INDEX cache.unresolved_member_dn ON unresolved_member (dn_key, tenant_id, directory);

-- Numbers that would otherwise be scans: enabled_members (a person in two directories
-- once), users and groups (rows), users.<directory>, groups.<directory>.
CREATE TABLE cache.counter (
    tenant_id TEXT   NOT NULL,
    name      TEXT   NOT NULL,
    value     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) WITHOUT ROWID;

-- Where the sync of one directory stands. full_at = 0: never complete, so users, names and seats would be guesses.
CREATE TABLE cache.sync_state (
    tenant_id    TEXT   NOT NULL,
    directory    TEXT   NOT NULL,
    run          BIGINT NOT NULL DEFAULT 0, -- number of the last run begun; only grows
    tokens       TEXT   NOT NULL DEFAULT '{}', -- JSON: a token a stream (users, groups), opaque
    binding      TEXT,                      -- what the tokens hold for: server, base, filter, attributes, dialect
    started_at   BIGINT NOT NULL DEFAULT 0,
    completed_at BIGINT NOT NULL DEFAULT 0, -- last completed run, full or not: "asOf"
    full_at      BIGINT NOT NULL DEFAULT 0, -- last completed full run
    sign_ins     SMALLINT NOT NULL DEFAULT 1, -- 0: the directory records no sign-ins
    error        TEXT,                      -- of the last run, NULL when it completed
    stopped      TEXT,                      -- deletion guard: reason; cleared by --accept-deletions
    PRIMARY KEY (tenant_id, directory)
) WITHOUT ROWID;

-- What a run brings, the last word for each entry, before it is applied; emptied when a run begins and ends.
-- kind: user, group, member (some members of a group, in the order of sub), sign_ins, report. op: put, same (as cached), late, present, delete; of
-- members add, remove.
CREATE TABLE cache.staging (
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    run       BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    id        TEXT   NOT NULL,
    sub       TEXT   NOT NULL DEFAULT '', -- of members: in which order they were told
    op        TEXT   NOT NULL,
    seq       BIGINT NOT NULL,          -- order of arrival; slices carry that of their list; 0: a group without its list
    digest    TEXT,
    item      TEXT
);
-- Items are written in the order of arrival; the index alone, which is narrow, grows at random places.
CREATE UNIQUE INDEX cache.staging_key ON staging (tenant_id, directory, run, kind, id, sub);

-- What the planner has to know from the first row on: tenant and directory select nothing, IDs and keys do. (rows, then rows for each prefix)
ANALYZE cache;
DELETE FROM cache.sqlite_stat1;
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES
    ('directory_user', 'sqlite_autoindex_directory_user_1', '100000 100000 50000 1'),
    ('directory_user', 'directory_user_upn', '100000 1 1'),
    ('directory_user', 'directory_user_list', '100000 100000 2 1 1 1 1 1 1 1 1'),
    ('directory_user', 'directory_user_idle', '100000 100000 50000 2 1'),
    ('directory_user', 'directory_user_unmanaged', '10000 10000 2 1'),
    ('directory_user', 'directory_user_dn', '100000 1 1 1 1'),
    ('directory_user', 'directory_user_manager', '100000 1000'),
    ('directory_user', 'directory_user_waiting', '50000 10 10 10'),
    ('directory_user', 'directory_user_anchor', '50000 1 1'),
    ('directory_user', 'directory_user_late', '1000 1000 500 1'),
    ('directory_user', 'directory_user_again', '1000 1000 500 1'),
    ('directory_user', 'directory_user_moved', '1000 1000 500 10'),
    ('address', 'address_key', '200000 200000 1 1 1'),
    ('directory_group', 'sqlite_autoindex_directory_group_1', '5000 5000 2500 1'),
    ('directory_group', 'directory_group_name', '5000 1 1 1'),
    ('directory_group', 'directory_group_moved', '100 100 50 2'),
    ('directory_group', 'directory_group_dn', '5000 1 1 1'),
    ('directory_group', 'directory_group_empty', '100 100 1 1'),
    ('directory_group', 'directory_group_no', '5000 1'),
    ('entry', 'entry', '100000 1'),
    ('entry', 'entry_id', '100000 100000 50000 1'),
    ('membership', 'membership', '500000 100 1'),
    ('membership', 'membership_member', '500000 5 1'),
    ('membership', 'membership_nested', '5000 3 1'),
    ('membership', 'membership_written', '1000 1 1 1'),
    ('unresolved_member', 'unresolved_member', '100000 100000 50000 20 1'),
    ('unresolved_member', 'unresolved_member_dn', '100000 2 2 2 1'),
    ('staging', 'staging_key', '100000 100000 50000 50000 30000 1 1');
