CREATE SCHEMA IF NOT EXISTS cache;
-- The cache schema: what the directories hold, as of the last sync and the worker's own writes. Another version is emptied and synced again,
-- never migrated. Written by sync connections alone. Rows carry the run that was newest when they changed and the time of the worker's last own write.

-- Indexes of one key begin with it: without statistics PostgreSQL takes tenant and directory for selective and any index that begins with them for
-- as good as the right one.
CREATE TABLE cache.directory_user (
    tenant_id                TEXT COLLATE "C"     NOT NULL,
    directory                TEXT COLLATE "C"     NOT NULL, -- cloud, onPremises
    id                       TEXT COLLATE "C"     NOT NULL, -- immutable: Graph id, objectGUID, entryUUID
    upn                      TEXT COLLATE "C",              -- NULL: the entry has none and cannot be addressed by it
    upn_key                  TEXT COLLATE "C",              -- folded
    mail                     TEXT COLLATE "C",
    mail_key                 TEXT COLLATE "C",
    display_name             TEXT COLLATE "C",
    name_key                 TEXT COLLATE "C"     NOT NULL DEFAULT '', -- folded display name: order of lists
    given_name               TEXT COLLATE "C",
    surname                  TEXT COLLATE "C",
    department               TEXT COLLATE "C",
    department_key           TEXT COLLATE "C",
    search_key               TEXT COLLATE "C"     NOT NULL DEFAULT '', -- folded words of names and addresses, each beginning marked
    job_title                TEXT COLLATE "C",
    company                  TEXT COLLATE "C",
    office                   TEXT COLLATE "C",
    city                     TEXT COLLATE "C",
    country                  TEXT COLLATE "C",
    employee_id              TEXT COLLATE "C",
    enabled                  SMALLINT NOT NULL DEFAULT 1,
    guest                    SMALLINT NOT NULL DEFAULT 0,
    created_at               BIGINT   NOT NULL DEFAULT 0,
    last_sign_in_at          BIGINT   NOT NULL DEFAULT 0, -- 0: never or not recorded
    last_noninteractive_at   BIGINT   NOT NULL DEFAULT 0,
    last_success_at          BIGINT   NOT NULL DEFAULT 0,
    manager_id               TEXT COLLATE "C",
    manager_ref              TEXT COLLATE "C",              -- DN key of a manager that was not in the cache when seen; resolved at the end of a run
    addresses                TEXT COLLATE "C"     NOT NULL DEFAULT '', -- record of those in cache.address
    licenses                 TEXT COLLATE "C"     NOT NULL DEFAULT '[]', -- names, a sorted JSON array
    dn                       TEXT COLLATE "C",
    dn_key                   TEXT COLLATE "C",              -- normalised DN: resolver of DN-valued links, never an identity
    dn_run                   BIGINT   NOT NULL DEFAULT 0, -- run that brought the DN; 0: the first load did
    anchor                   TEXT COLLATE "C",              -- onPremisesImmutableId or consistency GUID: joins the two directories
    shadow                   SMALLINT NOT NULL DEFAULT 0, -- 1: of the premises, and the cloud has the person too: lists show that row
    run                      BIGINT   NOT NULL DEFAULT 0, -- newest run when it was changed or written through
    written_at               BIGINT   NOT NULL DEFAULT 0, -- last write-through
    stamp                    TEXT COLLATE "C",              -- the directory's own stamp (entryCSN, uSNChanged)
    digest                   TEXT COLLATE "C"     NOT NULL DEFAULT '', -- of the item last applied in full; '' = apply the next one
    late                     TEXT COLLATE "C",              -- item that contradicted a write-through, kept until the protection ends; '' = a deletion
    PRIMARY KEY (tenant_id, directory, id)
);
-- What is searched for leads, the tenant follows: of a tenant that the statistics do not know yet the planner expects no row and would
-- take any index that begins with it.
CREATE INDEX directory_user_upn ON cache.directory_user (upn_key, tenant_id);
CREATE INDEX directory_user_dn ON cache.directory_user (dn_key, tenant_id, directory) WHERE dn_key IS NOT NULL;
CREATE INDEX directory_user_manager ON cache.directory_user (manager_id, tenant_id, directory) WHERE manager_id IS NOT NULL;
CREATE INDEX directory_user_waiting ON cache.directory_user (manager_ref, tenant_id, directory) WHERE manager_id IS NULL AND manager_ref IS NOT NULL;
CREATE INDEX directory_user_anchor ON cache.directory_user (anchor, tenant_id) WHERE anchor IS NOT NULL;
CREATE INDEX directory_user_employee ON cache.directory_user (employee_id, tenant_id) WHERE employee_id IS NOT NULL; -- a rehire asks
CREATE INDEX directory_user_late ON cache.directory_user (tenant_id, directory, id) WHERE late IS NOT NULL;
CREATE INDEX directory_user_again ON cache.directory_user (tenant_id, directory, id) WHERE digest = '';
CREATE INDEX directory_user_moved ON cache.directory_user (tenant_id, directory, dn_run) WHERE dn_run > 0;
-- Lists of people. The first one holds all that a search looks at: rows are read for the page alone.
CREATE INDEX directory_user_list ON cache.directory_user (tenant_id, name_key, id) INCLUDE (directory, enabled, guest, last_sign_in_at, department_key, search_key, shadow) WHERE shadow = 0;
CREATE INDEX directory_user_idle ON cache.directory_user (tenant_id, guest, (COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at)), id)
    WHERE shadow = 0 AND enabled = 1;
CREATE INDEX directory_user_unmanaged ON cache.directory_user (tenant_id, name_key, id)
    WHERE shadow = 0 AND enabled = 1 AND guest = 0 AND manager_id IS NULL AND manager_ref IS NULL;

-- Every address by which somebody or something can be reached, besides the UPN: mail and proxy addresses that differ from it; folded.
CREATE TABLE cache.address (
    tenant_id TEXT COLLATE "C" NOT NULL,
    address   TEXT COLLATE "C" NOT NULL,
    directory TEXT COLLATE "C" NOT NULL,
    owner_id  TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX address_key ON cache.address (tenant_id, address, directory, owner_id);

CREATE TABLE cache.directory_group (
    tenant_id    TEXT COLLATE "C"   NOT NULL,
    directory    TEXT COLLATE "C"   NOT NULL,
    id           TEXT COLLATE "C"   NOT NULL,
    no           BIGINT NOT NULL,         -- entry
    name         TEXT COLLATE "C"   NOT NULL,
    name_key     TEXT COLLATE "C"   NOT NULL,
    kind         TEXT COLLATE "C"   NOT NULL,         -- security microsoft365 distribution dynamic
    description  TEXT COLLATE "C",
    dn           TEXT COLLATE "C",
    dn_key       TEXT COLLATE "C",
    dn_run       BIGINT NOT NULL DEFAULT 0,   -- as of users
    rule         TEXT COLLATE "C",                    -- dynamic membership rule
    synced       SMALLINT NOT NULL DEFAULT 0, -- 1: mastered in the other directory
    member_count BIGINT NOT NULL DEFAULT 0,   -- direct members without the placeholder
    run          BIGINT NOT NULL DEFAULT 0,
    written_at   BIGINT NOT NULL DEFAULT 0,
    stamp        TEXT COLLATE "C",
    digest       TEXT COLLATE "C"   NOT NULL DEFAULT '', -- of attributes and member list; set when all members are in
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE UNIQUE INDEX directory_group_no ON cache.directory_group (no);
CREATE INDEX directory_group_name ON cache.directory_group (name_key, tenant_id, id);
CREATE INDEX directory_group_dn ON cache.directory_group (dn_key, tenant_id, directory);
CREATE INDEX directory_group_moved ON cache.directory_group (tenant_id, directory, dn_run) WHERE dn_run > 0;
CREATE INDEX directory_group_empty ON cache.directory_group (tenant_id, name_key, id) WHERE member_count = 0;

-- Numbers in place of IDs, for memberships: a million rows of four long texts are mostly text. An ID gets its number when a membership or a group
-- first needs one, whether or not the cache holds such an entry, and keeps it until a run finds that nothing bears it.
CREATE TABLE cache.entry (
    no        BIGINT GENERATED BY DEFAULT AS IDENTITY,
    tenant_id TEXT COLLATE "C" NOT NULL,
    directory TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (no)
);
CREATE UNIQUE INDEX entry_id ON cache.entry (tenant_id, directory, id);

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
);
CREATE INDEX membership_member ON cache.membership (member_no, group_no);
CREATE INDEX membership_nested ON cache.membership (group_no, member_no) WHERE nested = 1 AND removed = 0;
CREATE INDEX membership_written ON cache.membership (written_at) WHERE written_at > 0;

-- Members named by a DN that no cached entry has (yet): becomes a membership when the entry appears.
CREATE TABLE cache.unresolved_member (
    tenant_id TEXT COLLATE "C" NOT NULL,
    directory TEXT COLLATE "C" NOT NULL,
    group_id  TEXT COLLATE "C" NOT NULL,
    dn_key    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, directory, group_id, dn_key)
);
CREATE INDEX unresolved_member_dn ON cache.unresolved_member (dn_key, tenant_id, directory);

-- Numbers that would otherwise be scans: enabled_members (a person in two directories
-- once), users and groups (rows), users.<directory>, groups.<directory>.
CREATE TABLE cache.counter (
    tenant_id TEXT COLLATE "C"   NOT NULL,
    name      TEXT COLLATE "C"   NOT NULL,
    value     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- Where the sync of one directory stands. full_at = 0: never complete, so users, names and seats would be guesses.
CREATE TABLE cache.sync_state (
    tenant_id    TEXT COLLATE "C"   NOT NULL,
    directory    TEXT COLLATE "C"   NOT NULL,
    run          BIGINT NOT NULL DEFAULT 0, -- number of the last run begun; only grows
    tokens       TEXT COLLATE "C"   NOT NULL DEFAULT '{}', -- JSON: a token a stream (users, groups), opaque
    binding      TEXT COLLATE "C",                      -- what the tokens hold for: server, base, filter, attributes, dialect
    started_at   BIGINT NOT NULL DEFAULT 0,
    completed_at BIGINT NOT NULL DEFAULT 0, -- last completed run, full or not: "asOf"
    full_at      BIGINT NOT NULL DEFAULT 0, -- last completed full run
    sign_ins     SMALLINT NOT NULL DEFAULT 1, -- 0: the directory records no sign-ins
    error        TEXT COLLATE "C",                      -- of the last run, NULL when it completed
    stopped      TEXT COLLATE "C",                      -- deletion guard: reason; cleared by --accept-deletions
    PRIMARY KEY (tenant_id, directory)
);

-- What a run brings, the last word for each entry, before it is applied; emptied when a run begins and ends.
-- kind: user, group, member (some members of a group, in the order of sub), sign_ins, report. op: put, same (as cached), late, present, delete; of
-- members add, remove.
-- Unlogged: a run ends with its connection, so a server that crashed has nothing to bring back.
CREATE UNLOGGED TABLE cache.staging (
    tenant_id TEXT COLLATE "C"   NOT NULL,
    directory TEXT COLLATE "C"   NOT NULL,
    run       BIGINT NOT NULL,
    kind      TEXT COLLATE "C"   NOT NULL,
    id        TEXT COLLATE "C"   NOT NULL,
    sub       TEXT COLLATE "C"   NOT NULL DEFAULT '', -- of members: in which order they were told
    op        TEXT COLLATE "C"   NOT NULL,
    seq       BIGINT NOT NULL,          -- order of arrival; slices carry that of their list; 0: a group without its list
    digest    TEXT COLLATE "C",
    item      TEXT COLLATE "C"
);
CREATE UNIQUE INDEX staging_key ON cache.staging (tenant_id, directory, run, kind, id, sub);
