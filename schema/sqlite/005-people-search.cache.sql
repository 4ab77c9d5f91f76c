-- What people are found by.
ALTER TABLE cache.directory_user ADD COLUMN company_key TEXT; -- folded
ALTER TABLE cache.directory_user ADD COLUMN title_key TEXT;   -- folded
-- Grows in the order of lists; NULL: not listed, or not yet dealt (core/cache/place.c). PostgreSQL has no need of it.
ALTER TABLE cache.directory_user ADD COLUMN place BIGINT;
CREATE UNIQUE INDEX cache.directory_user_place ON directory_user (place) WHERE place IS NOT NULL;
CREATE INDEX cache.directory_user_unplaced ON directory_user (tenant_id, name_key, id) WHERE place IS NULL AND shadow = 0;
DROP INDEX cache.directory_user_list; -- words stood in it
CREATE INDEX cache.directory_user_list ON directory_user (tenant_id, name_key, id) WHERE shadow = 0;

-- Everybody's terms: words, and what filters ask for. A filter's term begins with _, which no word holds: _s status, _d department, _c company,
-- _t title, _e employee ID, _m manager, _l licence (values in hexadecimal digits), _b creation, _i last sign-in, _a activity (a day since 1970 as
-- three digits to the base of 32, so that beginnings are spans of days). core/cache/terms.c asks for them.
CREATE VIEW cache.person_terms AS SELECT place, replace(search_key, '_', ' ') || CASE WHEN guest = 1 THEN ' _sg' ELSE '' END
        || CASE WHEN enabled = 0 THEN ' _sd' WHEN guest = 0 THEN ' _sa' ELSE '' END
        || iif(department_key IS NULL, '', ' _d' || hex(department_key)) || iif(company_key IS NULL, '', ' _c' || hex(company_key))
        || iif(title_key IS NULL, '', ' _t' || hex(title_key)) || iif(employee_id IS NULL, '', ' _e' || hex(employee_id))
        || iif(manager_id IS NULL, '', ' _m' || hex(manager_id))
        || COALESCE((SELECT group_concat(' _l' || hex(lower(value)), '') FROM json_each(licenses)), '')
        || ' _b' || substr('0123456789abcdefghijklmnopqrstuv', created / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', created / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', created % 32 + 1, 1) || ' _i' || substr('0123456789abcdefghijklmnopqrstuv', signed_in / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', signed_in / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', signed_in % 32 + 1, 1)
        || CASE WHEN active > 0 THEN ' _a' || substr('0123456789abcdefghijklmnopqrstuv', active / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', active / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', active % 32 + 1, 1) ELSE '' END AS terms
    FROM (SELECT *, min(max(created_at, 0) / 86400000, 32767) AS created, min(max(last_sign_in_at, 0) / 86400000, 32767) AS signed_in,
        min(max(COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at), 0) / 86400000, 32767) AS active
        FROM directory_user WHERE place IS NOT NULL);
-- Their index: at each place its terms, so that matches come in the order of lists.
CREATE VIRTUAL TABLE cache.person_index USING fts5(terms, content='', detail=none, columnsize=0, prefix='1 2 3 4 5 6 7',
    tokenize="ascii tokenchars '_'");
-- Places whose terms may have changed in this transaction: what the index holds there, NULL for nothing. What is taken out of the index must be
-- exactly what was put in, and a person changes in many ways: so triggers note it. Emptied at the end of each transaction.
CREATE TABLE cache.person_stale (place BIGINT NOT NULL, was TEXT, PRIMARY KEY (place)) WITHOUT ROWID;
CREATE TRIGGER cache.directory_user_changes BEFORE UPDATE OF place, search_key, enabled, guest, department_key, company_key, title_key, employee_id,
    manager_id, licenses, created_at, last_sign_in_at, last_success_at ON directory_user WHEN OLD.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was) SELECT place, terms FROM person_terms WHERE place = OLD.place ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER cache.directory_user_goes BEFORE DELETE ON directory_user WHEN OLD.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was) SELECT place, terms FROM person_terms WHERE place = OLD.place ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER cache.directory_user_placed AFTER UPDATE OF place ON directory_user WHEN NEW.place IS NOT NULL BEGIN
    INSERT INTO person_stale (place, was) VALUES (NEW.place, NULL) ON CONFLICT DO NOTHING;
END;

DELETE FROM cache.sqlite_stat1 WHERE idx = 'directory_user_list';
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES
    ('directory_user', 'directory_user_list', '100000 100000 2 1'),
    ('person_stale', 'person_stale', '500 1'),
    ('directory_user', 'directory_user_place', '100000 1'),
    ('directory_user', 'directory_user_unplaced', '1000 1000 2 1');
