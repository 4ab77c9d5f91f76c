-- The cache file: what the directories hold, as of the last synchronisation and the worker's own
-- writes. Only connections of synchronisations write it. A cache of another version is not
-- migrated, but emptied and synchronised again. Rows carry the run that was newest when they
-- changed, and the time of the worker's last own write.
--- postgresql
CREATE SCHEMA IF NOT EXISTS cache;
--- both

-- Indexes for one key begin with it, not with the tenant: without statistics PostgreSQL assumes
-- that tenant and directory are selective, and that any index that begins with them is as good as
-- the right one.
CREATE TABLE cache.directory_user (
    tenant_id              TEXT     NOT NULL,
    directory              TEXT     NOT NULL, -- cloud, onPremises
    id                     TEXT     NOT NULL, -- immutable: Graph id, objectGUID, entryUUID
    upn                    TEXT,              -- NULL: none, so it cannot be addressed by it
    upn_key                TEXT,              -- folded, as every _key of a text
    mail                   TEXT,
    display_name           TEXT,
    name_key               TEXT     NOT NULL DEFAULT '', -- order of lists
    given_name             TEXT,
    surname                TEXT,
    department             TEXT,
    department_key         TEXT,
    search_key             TEXT     NOT NULL DEFAULT '', -- folded words of names and addresses,
                                              -- each beginning marked
    job_title              TEXT,
    title_key              TEXT,
    company                TEXT,
    company_key            TEXT,
    office                 TEXT,
    city                   TEXT,
    country                TEXT,
    street_address         TEXT,
    postal_code            TEXT,
    preferred_language     TEXT,
    employee_id            TEXT,
    employee_key           TEXT,              -- directories compare it folded
    enabled                SMALLINT NOT NULL DEFAULT 1,
    expires_at             BIGINT   NOT NULL DEFAULT 0, -- of the account; 0: never
    expired                SMALLINT NOT NULL DEFAULT 0, -- 1: the directory has it enabled, but that
                                                        -- time is over, so `enabled` is 0
    guest                  SMALLINT NOT NULL DEFAULT 0,
    created_at             BIGINT   NOT NULL DEFAULT 0,
    last_sign_in_at        BIGINT   NOT NULL DEFAULT 0, -- 0: never, or not recorded
    last_noninteractive_at BIGINT   NOT NULL DEFAULT 0,
    last_success_at        BIGINT   NOT NULL DEFAULT 0,
    manager_id             TEXT,
    manager_ref            TEXT,              -- DN key of a manager that the cache did not hold;
                                              -- resolved at the end of a run
    addresses              TEXT     NOT NULL DEFAULT '', -- record of those in cache.address
    aliases                TEXT     NOT NULL DEFAULT '', -- record of the further values that the
                                              -- UPN was chosen from, folded; in cache.address too
    licenses               TEXT     NOT NULL DEFAULT '[]', -- names, a sorted JSON array
    dn                     TEXT,
    dn_key                 TEXT,              -- normalised: resolves links by DN, never an identity
    dn_run                 BIGINT   NOT NULL DEFAULT 0, -- run that brought the DN; 0: first load
    anchor                 TEXT,              -- onPremisesImmutableId or consistency GUID: joins
                                              -- the two directories
    shadow                 SMALLINT NOT NULL DEFAULT 0, -- 1: on-premises, and lists show the
                                              -- cloud's row of the same person
    run                    BIGINT   NOT NULL DEFAULT 0, -- newest run at its last change
    written_at             BIGINT   NOT NULL DEFAULT 0, -- last write-through
    written_whole          SMALLINT NOT NULL DEFAULT 0, -- 1: the whole user was written through
    shown                  SMALLINT NOT NULL DEFAULT 0, -- 1: a read of the directory has shown what
                                              -- was written: a later contradiction is a change
    stamp                  TEXT,              -- the directory's own (entryCSN, uSNChanged)
    digest                 TEXT     NOT NULL DEFAULT '', -- of the item applied in full; '':
                                              -- apply the next one
    late                   TEXT,              -- item that contradicted a write-through, kept until
                                              -- the protection ends; '': a deletion
--- sqlite
    place                  BIGINT,            -- grows in the order of lists; NULL: not listed, or
                                              -- not yet assigned (core/cache/rank.c)
--- both
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE INDEX cache.directory_user_upn ON directory_user (upn_key, tenant_id);
CREATE INDEX cache.directory_user_anchor ON directory_user (anchor, tenant_id)
    WHERE anchor IS NOT NULL;
CREATE INDEX cache.directory_user_employee ON directory_user (employee_key, tenant_id)
    WHERE employee_key IS NOT NULL;
CREATE INDEX cache.directory_user_waiting ON directory_user (manager_ref, tenant_id, directory)
    WHERE manager_id IS NULL AND manager_ref IS NOT NULL;
--- sqlite
-- A covering index for lookups of a member's DN.
CREATE INDEX cache.directory_user_dn ON directory_user (dn_key, tenant_id, directory, id)
    WHERE dn_key IS NOT NULL;
CREATE INDEX cache.directory_user_manager ON directory_user (manager_id)
    WHERE manager_id IS NOT NULL;
--- postgresql
CREATE INDEX cache.directory_user_dn ON directory_user (dn_key, tenant_id, directory)
    WHERE dn_key IS NOT NULL;
CREATE INDEX cache.directory_user_manager ON directory_user (manager_id, tenant_id, directory)
    WHERE manager_id IS NOT NULL;
--- both
CREATE INDEX cache.directory_user_late ON directory_user (tenant_id, directory, id)
    WHERE late IS NOT NULL;
CREATE INDEX cache.directory_user_again ON directory_user (tenant_id, directory, id)
    WHERE digest = '';
CREATE INDEX cache.directory_user_moved ON directory_user (tenant_id, directory, dn_run)
    WHERE dn_run > 0;
CREATE INDEX cache.directory_user_expires ON directory_user (tenant_id, directory, expires_at)
    WHERE expires_at > 0 AND enabled = 1;
-- Lists of people.
CREATE INDEX cache.directory_user_list ON directory_user (tenant_id, name_key, id)
    WHERE shadow = 0;
CREATE INDEX cache.directory_user_idle ON directory_user (tenant_id, guest,
        (COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at)), id)
    WHERE shadow = 0 AND enabled = 1;
CREATE INDEX cache.directory_user_unmanaged ON directory_user (tenant_id, name_key, id)
    WHERE shadow = 0 AND enabled = 1 AND guest = 0 AND manager_id IS NULL AND manager_ref IS NULL;
CREATE INDEX cache.directory_user_disabled ON directory_user (tenant_id, name_key, id)
    WHERE shadow = 0 AND enabled = 0;
-- Disabled accounts that still have licences. A covering index for the count.
CREATE INDEX cache.directory_user_disabled_licensed ON directory_user
    (tenant_id, shadow, enabled, licenses)
    WHERE shadow = 0 AND enabled = 0 AND licenses <> '[]';

-- Every address of a person or another recipient besides the UPN: mail and proxy addresses that
-- differ from it; folded.
CREATE TABLE cache.address (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    directory TEXT NOT NULL,
    owner_id  TEXT NOT NULL,
    PRIMARY KEY (tenant_id, address, directory, owner_id)
) COMPACT;

-- Addresses, UPNs or others, folded, that several accounts of one directory have, with each of
-- them.
CREATE TABLE cache.shared_address (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL,
    owner_id  TEXT NOT NULL,
    directory TEXT NOT NULL,
    PRIMARY KEY (tenant_id, address, owner_id, directory)
) COMPACT;

CREATE TABLE cache.directory_group (
    tenant_id    TEXT     NOT NULL,
    directory    TEXT     NOT NULL,
    id           TEXT     NOT NULL,
    no           BIGINT   NOT NULL,           -- entry
    name         TEXT     NOT NULL,
    name_key     TEXT     NOT NULL,
    kind         TEXT     NOT NULL,           -- security microsoft365 distribution dynamic
    description  TEXT,
    dn           TEXT,
    dn_key       TEXT,
    dn_run       BIGINT   NOT NULL DEFAULT 0, -- as for users
    rule         TEXT,                        -- dynamic membership rule
    synced       SMALLINT NOT NULL DEFAULT 0, -- 1: mastered in the other directory
    member_count BIGINT   NOT NULL DEFAULT 0, -- direct members without the placeholder
    run          BIGINT   NOT NULL DEFAULT 0,
    written_at   BIGINT   NOT NULL DEFAULT 0,
    stamp        TEXT,
    digest       TEXT     NOT NULL DEFAULT '', -- of attributes and members; set when all are in
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE UNIQUE INDEX cache.directory_group_no ON directory_group (tenant_id, no);
CREATE INDEX cache.directory_group_name ON directory_group (name_key, tenant_id, id);
CREATE INDEX cache.directory_group_dn ON directory_group (dn_key, tenant_id, directory);
CREATE INDEX cache.directory_group_moved ON directory_group (tenant_id, directory, dn_run)
    WHERE dn_run > 0;
CREATE INDEX cache.directory_group_empty ON directory_group (tenant_id, name_key, id)
    WHERE member_count = 0;

-- Numbers in place of IDs, for memberships: with four long texts each, a million rows are mostly
-- text. An ID gets its number when a membership or a group first needs one, whether or not the
-- cache holds such an entry, and keeps it until a run finds that nothing uses it.
CREATE TABLE cache.entry (
    tenant_id TEXT   NOT NULL,
    no        BIGINT NUMBERED,
    directory TEXT   NOT NULL,
    id        TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, no)
) COMPACT;
CREATE UNIQUE INDEX cache.entry_id ON entry (tenant_id, directory, id);

-- Direct memberships.
CREATE TABLE cache.membership (
    tenant_id    TEXT     NOT NULL,
    group_no     BIGINT   NOT NULL,           -- entry
    member_no    BIGINT   NOT NULL,           -- entry
    nested       SMALLINT NOT NULL,           -- 1: the member is a group
    listed       BIGINT   NOT NULL DEFAULT 0, -- last run that listed it; a list removes others
    run          BIGINT   NOT NULL DEFAULT 0, -- newest run at its write-through
    written_at   BIGINT   NOT NULL DEFAULT 0,
    removed      SMALLINT NOT NULL DEFAULT 0, -- 1: removed by the worker; kept while a late page
                                              -- could still contradict
    contradicted SMALLINT NOT NULL DEFAULT 0, -- 1: within the protection the directory last said
                                              -- the opposite
    PRIMARY KEY (tenant_id, group_no, member_no)
) COMPACT;
CREATE INDEX cache.membership_member ON membership (member_no, tenant_id, group_no);
CREATE INDEX cache.membership_nested ON membership (group_no, tenant_id, member_no)
    WHERE nested = 1 AND removed = 0;
CREATE INDEX cache.membership_written ON membership (written_at) WHERE written_at > 0;

-- Memberships of people that a synchronisation or a task has just seen gone, until the worker has
-- noted them in access_end.
CREATE TABLE cache.membership_lost (
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    group_id  TEXT   NOT NULL,
    user_id   TEXT   NOT NULL,
    at        BIGINT NOT NULL, -- what was granted before this instant is over
    PRIMARY KEY (tenant_id, directory, group_id, user_id)
) COMPACT;

-- Members by a DN that no cached entry has (yet): becomes a membership when the entry appears.
CREATE TABLE cache.unresolved_member (
    tenant_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    group_id  TEXT NOT NULL,
    dn_key    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, directory, group_id, dn_key)
) COMPACT;
CREATE INDEX cache.unresolved_member_dn ON unresolved_member (dn_key, tenant_id, directory);

-- Numbers that would otherwise be scans: enabled_members (a person in two directories once), users
-- and groups (rows), users.<directory>, groups.<directory>.
CREATE TABLE cache.counter (
    tenant_id TEXT   NOT NULL,
    name      TEXT   NOT NULL,
    value     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) COMPACT;

-- Progress of the synchronisation of one directory. full_at = 0: never complete, so users, names
-- and seats would be guesses.
CREATE TABLE cache.sync_state (
    tenant_id    TEXT     NOT NULL,
    directory    TEXT     NOT NULL,
    run          BIGINT   NOT NULL DEFAULT 0,    -- number of the last run begun; only grows
    tokens       TEXT     NOT NULL DEFAULT '{}', -- JSON: a token a stream (users, groups), opaque
    binding      TEXT,                           -- what the tokens hold for: server, base, filter,
                                                 -- attributes, dialect
    started_at   BIGINT   NOT NULL DEFAULT 0,
    completed_at BIGINT   NOT NULL DEFAULT 0,    -- last completed run, full or not: "asOf"
    full_at      BIGINT   NOT NULL DEFAULT 0,    -- last completed full run
    sign_ins     SMALLINT NOT NULL DEFAULT 1,    -- 0: the directory records no sign-ins
    sign_ins_at  BIGINT   NOT NULL DEFAULT 0,    -- when they were read; 0: with the run itself
    error        TEXT,                           -- of the last run, NULL when it completed
    stopped      TEXT,                           -- deletion guard: reason, until --accept-deletions
    PRIMARY KEY (tenant_id, directory)
) COMPACT;

-- A run's items before they are applied, the last one for each entry; emptied when a run begins
-- and ends. A run ends with its connection, so a server that crashed has nothing to bring back.
-- kind: user, group, member (some members of a group, in the order of sub), sign_ins, report. op:
-- put, same (as cached), late, present, delete; of members add, remove. Items are written in the
-- order of arrival: the index alone, which is narrow, grows at random places.
CREATE UNLOGGED TABLE cache.staging (
    tenant_id TEXT   NOT NULL,
    directory TEXT   NOT NULL,
    run       BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    id        TEXT   NOT NULL,
    sub       TEXT   NOT NULL DEFAULT '', -- of members: their order of arrival
    op        TEXT   NOT NULL,
    seq       BIGINT NOT NULL,            -- order of arrival; slices carry that of their list; 0: a
                                          -- group without its list
    digest    TEXT,
    item      TEXT
);
CREATE UNIQUE INDEX cache.staging_key ON staging (tenant_id, directory, run, kind, id, sub);

-- Numbers of listed people by the properties that totals count: a total is read, because counting
-- is a scan. Each listed person is counted in one row. Triggers maintain it, because a person
-- changes in many ways.
CREATE TABLE cache.people_count (
    tenant_id TEXT     NOT NULL,
    enabled   SMALLINT NOT NULL,
    guest     SMALLINT NOT NULL,
    managed   SMALLINT NOT NULL, -- 1: the directory names a manager
    people    BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, enabled, guest, managed)
) COMPACT;

-- Terms by which people are searched (core/cache/terms.c): words, and what filters ask for. A
-- filter's term begins with _, which no word holds: _s status, _d department, _c company, _t title,
-- _e employee ID, _m manager, _l licence, _b creation, _i last sign-in, _a activity (a day since
-- 1970 as three digits, so that beginnings are spans of days). Triggers note whose terms change,
-- because a person changes in many ways; the transaction settles them at its end.
--- sqlite
-- Unique in the file, because the index of terms has nothing but a number (rowid): a place begins
-- with the number of the tenant (core/cache/rank.c).
CREATE UNIQUE INDEX cache.directory_user_place ON directory_user (place) WHERE place IS NOT NULL;
CREATE INDEX cache.directory_user_unplaced ON directory_user (tenant_id, name_key, id)
    WHERE place IS NULL AND shadow = 0;

-- Values are hexadecimal digits.
CREATE VIEW cache.person_terms AS SELECT place, replace(search_key, '_', ' ')
        || CASE WHEN guest = 1 THEN ' _sg' ELSE '' END
        || CASE WHEN enabled = 0 THEN ' _sd' WHEN guest = 0 THEN ' _sa' ELSE '' END
        || iif(department_key IS NULL, '', ' _d' || hex(department_key))
        || iif(company_key IS NULL, '', ' _c' || hex(company_key))
        || iif(title_key IS NULL, '', ' _t' || hex(title_key))
        || iif(employee_key IS NULL, '', ' _e' || hex(employee_key))
        || iif(manager_id IS NULL, '', ' _m' || hex(manager_id))
        || COALESCE((SELECT group_concat(' _l' || hex(lower(value)), '')
            FROM json_each(licenses)), '')
        || ' _b' || DAY(created) || ' _i' || DAY(signed_in)
        || CASE WHEN active > 0 THEN ' _a' || DAY(active) ELSE '' END AS terms
    FROM (SELECT *, min(max(created_at, 0) / 86400000, 32767) AS created,
        min(max(last_sign_in_at, 0) / 86400000, 32767) AS signed_in,
        min(max(COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at), 0)
            / 86400000, 32767) AS active
        FROM directory_user WHERE place IS NOT NULL);
-- The index: at each place its terms, so that matches come in the order of lists.
CREATE VIRTUAL TABLE cache.person_index USING fts5(terms, content='', detail=none, columnsize=0,
    prefix='1 2 3 4 5 6 7', tokenize="ascii tokenchars '_'");
-- Places whose terms may have changed in this transaction, and what the index holds there (NULL:
-- nothing): what is taken out of the index must be exactly what was put in.
CREATE TABLE cache.person_stale (
    place BIGINT NOT NULL,
    was   TEXT,
    PRIMARY KEY (place)
) COMPACT;
CREATE TRIGGER cache.directory_user_changes BEFORE UPDATE OF place, search_key, enabled, guest,
    department_key, company_key, title_key, employee_key, manager_id, licenses, created_at,
    last_sign_in_at, last_success_at ON directory_user WHEN OLD.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was)
        SELECT place, terms FROM person_terms WHERE place = OLD.place ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER cache.directory_user_goes BEFORE DELETE ON directory_user
    WHEN OLD.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was)
        SELECT place, terms FROM person_terms WHERE place = OLD.place ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER cache.directory_user_placed AFTER UPDATE OF place ON directory_user
    WHEN NEW.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was) VALUES (NEW.place, NULL) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER cache.people_count_comes AFTER INSERT ON directory_user WHEN NEW.shadow = 0 BEGIN
    INSERT INTO people_count (tenant_id, enabled, guest, managed, people)
        VALUES (NEW.tenant_id, NEW.enabled, NEW.guest,
            COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL, 1)
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = people + 1;
END;
CREATE TRIGGER cache.people_count_goes AFTER DELETE ON directory_user WHEN OLD.shadow = 0 BEGIN
    UPDATE people_count SET people = people - 1 WHERE tenant_id = OLD.tenant_id
        AND enabled = OLD.enabled AND guest = OLD.guest
        AND managed = (COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL);
END;
CREATE TRIGGER cache.people_count_changes
    AFTER UPDATE OF tenant_id, shadow, enabled, guest, manager_id, manager_ref ON directory_user
    WHEN (OLD.tenant_id, OLD.shadow, OLD.enabled, OLD.guest,
            COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL)
        <> (NEW.tenant_id, NEW.shadow, NEW.enabled, NEW.guest,
            COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL) BEGIN
    UPDATE people_count SET people = people - 1 WHERE OLD.shadow = 0
        AND tenant_id = OLD.tenant_id AND enabled = OLD.enabled AND guest = OLD.guest
        AND managed = (COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL);
    INSERT INTO people_count (tenant_id, enabled, guest, managed, people)
        SELECT NEW.tenant_id, NEW.enabled, NEW.guest,
            COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL, 1 WHERE NEW.shadow = 0
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = people + 1;
END;

-- What the planner must know from the first row on: tenant and directory select nothing, IDs and
-- keys do. (rows, then rows for each prefix)
ANALYZE cache;
DELETE FROM cache.sqlite_stat1;
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES
    ('directory_user', 'sqlite_autoindex_directory_user_1', '100000 100000 50000 1'),
    ('directory_user', 'directory_user_upn', '100000 1 1'),
    ('directory_user', 'directory_user_list', '100000 100000 2 1'),
    ('directory_user', 'directory_user_idle', '100000 100000 50000 2 1'),
    ('directory_user', 'directory_user_unmanaged', '10000 10000 2 1'),
    ('directory_user', 'directory_user_disabled', '10000 10000 2 1'),
    ('directory_user', 'directory_user_disabled_licensed', '5000 5000 5000 5000 50'),
    ('directory_user', 'directory_user_dn', '100000 1 1 1 1'),
    ('directory_user', 'directory_user_manager', '100000 1000'),
    ('directory_user', 'directory_user_waiting', '50000 10 10 10'),
    ('directory_user', 'directory_user_anchor', '50000 1 1'),
    ('directory_user', 'directory_user_late', '1000 1000 500 1'),
    ('directory_user', 'directory_user_again', '1000 1000 500 1'),
    ('directory_user', 'directory_user_moved', '1000 1000 500 10'),
    ('directory_user', 'directory_user_expires', '1000 1000 500 1'),
    ('directory_user', 'directory_user_place', '100000 1'),
    ('directory_user', 'directory_user_unplaced', '1000 1000 2 1'),
    ('person_stale', 'person_stale', '500 1'),
    ('address', 'address', '200000 200000 1 1 1'),
    ('shared_address', 'shared_address', '100 100 2 1 1'),
    ('directory_group', 'sqlite_autoindex_directory_group_1', '5000 5000 2500 1'),
    ('directory_group', 'directory_group_name', '5000 1 1 1'),
    ('directory_group', 'directory_group_moved', '100 100 50 2'),
    ('directory_group', 'directory_group_dn', '5000 1 1 1'),
    ('directory_group', 'directory_group_empty', '100 100 1 1'),
    ('directory_group', 'directory_group_no', '5000 5000 1'),
    ('entry', 'entry', '100000 100000 1'),
    ('entry', 'entry_id', '100000 100000 50000 1'),
    ('membership', 'membership', '500000 500000 100 1'),
    ('membership', 'membership_member', '500000 5 5 1'),
    ('membership', 'membership_nested', '5000 3 3 1'),
    ('membership', 'membership_written', '1000 1 1 1 1'),
    ('unresolved_member', 'unresolved_member', '100000 100000 50000 20 1'),
    ('unresolved_member', 'unresolved_member_dn', '100000 2 2 2 1'),
    ('staging', 'staging_key', '100000 100000 50000 50000 30000 1 1');
--- postgresql
-- The index: words cannot be walked in the order of lists, and collecting all people of a frequent
-- word costs as much as there are of them. So the list is cut into segments of some thousand
-- people, and each term begins with the number of its segment: a page asks one segment after the
-- other until it is full, and no question collects more at once than one segment holds
-- (core/cache/segment.c). A segment begins at (name_key, id), the first one of a tenant at
-- ('', ''), and ends where the next one begins.
CREATE TABLE cache.person_segment (
    tenant_id TEXT   NOT NULL,
    name_key  TEXT   NOT NULL,
    id        TEXT   NOT NULL,
    no        BIGINT NUMBERED,
    people    BIGINT NOT NULL, -- put in since it was cut, at least as many as it holds; -1: those
                               -- who are listed are yet to be put in
    PRIMARY KEY (tenant_id, name_key, id)
);
CREATE TABLE cache.person_index (
    tenant_id TEXT     NOT NULL,
    directory TEXT     NOT NULL,
    id        TEXT     NOT NULL,
    name_key  TEXT     NOT NULL,
    segment   BIGINT   NOT NULL,
    terms     TSVECTOR NOT NULL,
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE INDEX cache.person_index_terms ON person_index USING gin (terms);

-- Each term stands behind a |. A value is the beginning of its digest, because it stands in the
-- table and in the index for each person. The signs before most marks are left out, so that a word
-- mostly is one term.
CREATE VIEW cache.person_terms AS SELECT tenant_id, directory, id, name_key,
        replace(replace(replace(search_key, ' |', '|'), '.|', '|'), '@|', '|')
        || CASE WHEN guest = 1 THEN '|_sg' ELSE '' END
        || CASE WHEN enabled = 0 THEN '|_sd' WHEN guest = 0 THEN '|_sa' ELSE '' END
        || COALESCE('|_d' || DIGEST(department_key), '')
        || COALESCE('|_c' || DIGEST(company_key), '')
        || COALESCE('|_t' || DIGEST(title_key), '')
        || COALESCE('|_e' || DIGEST(employee_key), '')
        || COALESCE('|_m' || DIGEST(manager_id), '')
        || CASE WHEN licenses = '[]' THEN '' ELSE COALESCE((
            SELECT string_agg('|_l' || DIGEST(lower(l)), '')
            FROM jsonb_array_elements_text(CAST(licenses AS jsonb)) l), '') END
        || '|_b' || DAY(created) || '|_i' || DAY(signed_in)
        || CASE WHEN active > 0 THEN '|_a' || DAY(active) ELSE '' END AS terms
    FROM (SELECT *, CAST(LEAST(GREATEST(created_at, 0) / 86400000, 32767) AS INTEGER) AS created,
        CAST(LEAST(GREATEST(last_sign_in_at, 0) / 86400000, 32767) AS INTEGER) AS signed_in,
        CAST(LEAST(GREATEST(COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0),
            created_at), 0) / 86400000, 32767) AS INTEGER) AS active
        FROM cache.directory_user WHERE shadow = 0) u;

-- People whose terms, or whose being listed, may have changed. A first load notes none (counter
-- loading 1) and assigns all at its end (2: those who change meanwhile are noted).
CREATE TABLE cache.person_stale (
    tenant_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    id        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, directory, id)
);
CREATE FUNCTION cache.person_comes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.person_stale (tenant_id, directory, id)
        SELECT tenant_id, directory, id FROM come WHERE NOT EXISTS (SELECT 1 FROM cache.counter c
            WHERE c.tenant_id = come.tenant_id AND c.name = 'loading' AND c.value = 1)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION cache.person_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.person_stale (tenant_id, directory, id)
        SELECT OLD.tenant_id, OLD.directory, OLD.id WHERE NOT EXISTS (SELECT 1
            FROM cache.counter c
            WHERE c.tenant_id = OLD.tenant_id AND c.name = 'loading' AND c.value = 1)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER directory_user_comes AFTER INSERT ON cache.directory_user
    REFERENCING NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION cache.person_comes();
CREATE TRIGGER directory_user_changes AFTER UPDATE OF name_key, shadow, search_key, enabled, guest,
    department_key, company_key, title_key, employee_key, manager_id, licenses, created_at,
    last_sign_in_at, last_success_at ON cache.directory_user FOR EACH ROW
    WHEN ((OLD.name_key, OLD.shadow, OLD.search_key, OLD.enabled, OLD.guest, OLD.department_key,
            OLD.company_key, OLD.title_key, OLD.employee_key, OLD.manager_id, OLD.licenses,
            OLD.created_at, OLD.last_sign_in_at, OLD.last_success_at)
        IS DISTINCT FROM (NEW.name_key, NEW.shadow, NEW.search_key, NEW.enabled, NEW.guest,
            NEW.department_key, NEW.company_key, NEW.title_key, NEW.employee_key, NEW.manager_id,
            NEW.licenses, NEW.created_at, NEW.last_sign_in_at, NEW.last_success_at))
    EXECUTE FUNCTION cache.person_changes();
CREATE TRIGGER directory_user_goes AFTER DELETE ON cache.directory_user FOR EACH ROW
    EXECUTE FUNCTION cache.person_changes();

-- Once a statement, because a row that one transaction writes for each person is found ever more
-- slowly.
CREATE FUNCTION cache.people_count_comes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.people_count AS k (tenant_id, enabled, guest, managed, people)
        SELECT tenant_id, enabled, guest,
            CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed,
            count(*)
        FROM come WHERE shadow = 0 GROUP BY 1, 2, 3, 4
        ON CONFLICT (tenant_id, enabled, guest, managed)
        DO UPDATE SET people = k.people + excluded.people;
    RETURN NULL;
END $$;
CREATE FUNCTION cache.people_count_goes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE cache.people_count k SET people = k.people - x.people FROM (
        SELECT tenant_id, enabled, guest,
            CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed,
            count(*) AS people
        FROM gone WHERE shadow = 0 GROUP BY 1, 2, 3, 4) x
        WHERE k.tenant_id = x.tenant_id AND k.enabled = x.enabled AND k.guest = x.guest
        AND k.managed = x.managed;
    RETURN NULL;
END $$;
CREATE FUNCTION cache.people_count_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.people_count AS k (tenant_id, enabled, guest, managed, people)
        SELECT tenant_id, enabled, guest,
            CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed,
            sum(n)
        FROM (SELECT tenant_id, enabled, guest, manager_id, manager_ref, 1 AS n
                FROM come WHERE shadow = 0
            UNION ALL SELECT tenant_id, enabled, guest, manager_id, manager_ref, -1
                FROM gone WHERE shadow = 0) x
        GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0
        ON CONFLICT (tenant_id, enabled, guest, managed)
        DO UPDATE SET people = k.people + excluded.people;
    RETURN NULL;
END $$;
CREATE TRIGGER people_count_comes AFTER INSERT ON cache.directory_user
    REFERENCING NEW TABLE AS come FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_comes();
CREATE TRIGGER people_count_goes AFTER DELETE ON cache.directory_user
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_goes();
CREATE TRIGGER people_count_changes AFTER UPDATE ON cache.directory_user
    REFERENCING OLD TABLE AS gone NEW TABLE AS come FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_changes();
