-- An employee ID is compared as directories compare texts: folded.
ALTER TABLE cache.directory_user ADD COLUMN employee_key TEXT;
-- Record of the further values that the UPN was chosen from, folded; they stand in cache.address as well.
ALTER TABLE cache.directory_user ADD COLUMN aliases TEXT NOT NULL DEFAULT '';
-- When the directory lets the account expire; 0: never. `expired`: the directory has it enabled, but that time is over, so `enabled` is 0.
ALTER TABLE cache.directory_user ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cache.directory_user ADD COLUMN expired SMALLINT NOT NULL DEFAULT 0;
-- 1: another account of the same directory has the same UPN.
ALTER TABLE cache.directory_user ADD COLUMN shared SMALLINT NOT NULL DEFAULT 0;
DROP INDEX cache.directory_user_employee;
CREATE INDEX cache.directory_user_employee ON directory_user (employee_key, tenant_id) WHERE employee_key IS NOT NULL;
CREATE INDEX cache.directory_user_expires ON directory_user (tenant_id, directory, expires_at) WHERE expires_at > 0 AND enabled = 1;
CREATE INDEX cache.directory_user_shared ON directory_user (tenant_id, upn_key, id) WHERE shared = 1;
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES ('directory_user', 'directory_user_expires', '1000 1000 500 1'),
    ('directory_user', 'directory_user_shared', '100 100 2 1');
-- Terms as before (schema/sqlite/005-people-search.cache.sql), of the employee ID its key.
DROP VIEW cache.person_terms;
CREATE VIEW cache.person_terms AS SELECT place, replace(search_key, '_', ' ') || CASE WHEN guest = 1 THEN ' _sg' ELSE '' END
        || CASE WHEN enabled = 0 THEN ' _sd' WHEN guest = 0 THEN ' _sa' ELSE '' END
        || iif(department_key IS NULL, '', ' _d' || hex(department_key)) || iif(company_key IS NULL, '', ' _c' || hex(company_key))
        || iif(title_key IS NULL, '', ' _t' || hex(title_key)) || iif(employee_key IS NULL, '', ' _e' || hex(employee_key))
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
