-- An employee ID is compared as directories compare texts: folded.
ALTER TABLE cache.directory_user ADD COLUMN employee_key TEXT COLLATE "C";
-- Record of the further values that the UPN was chosen from, folded; they stand in cache.address as well.
ALTER TABLE cache.directory_user ADD COLUMN aliases TEXT COLLATE "C" NOT NULL DEFAULT '';
-- When the directory lets the account expire; 0: never. `expired`: the directory has it enabled, but that time is over, so `enabled` is 0.
ALTER TABLE cache.directory_user ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cache.directory_user ADD COLUMN expired SMALLINT NOT NULL DEFAULT 0;
-- 1: another account of the same directory has the same UPN.
ALTER TABLE cache.directory_user ADD COLUMN shared SMALLINT NOT NULL DEFAULT 0;
DROP INDEX cache.directory_user_employee;
CREATE INDEX directory_user_employee ON cache.directory_user (employee_key, tenant_id) WHERE employee_key IS NOT NULL;
CREATE INDEX directory_user_expires ON cache.directory_user (tenant_id, directory, expires_at) WHERE expires_at > 0 AND enabled = 1;
CREATE INDEX directory_user_shared ON cache.directory_user (tenant_id, upn_key, id) WHERE shared = 1;
-- Terms as before (schema/postgresql/007-person-index.cache.sql), of the employee ID its key.
CREATE OR REPLACE VIEW cache.person_terms AS SELECT tenant_id, directory, id, name_key, replace(replace(replace(search_key, ' |', '|'), '.|', '|'), '@|', '|')
        || CASE WHEN guest = 1 THEN '|_sg' ELSE '' END || CASE WHEN enabled = 0 THEN '|_sd' WHEN guest = 0 THEN '|_sa' ELSE '' END
        || COALESCE('|_d' || left(encode(sha256(convert_to(department_key, 'UTF8')), 'hex'), 20), '') || COALESCE('|_c' || left(encode(sha256(convert_to(company_key, 'UTF8')), 'hex'), 20), '')
        || COALESCE('|_t' || left(encode(sha256(convert_to(title_key, 'UTF8')), 'hex'), 20), '') || COALESCE('|_e' || left(encode(sha256(convert_to(employee_key, 'UTF8')), 'hex'), 20), '')
        || COALESCE('|_m' || left(encode(sha256(convert_to(manager_id, 'UTF8')), 'hex'), 20), '')
        || CASE WHEN licenses = '[]' THEN '' ELSE COALESCE((SELECT string_agg('|_l' || left(encode(sha256(convert_to(lower(l), 'UTF8')), 'hex'), 20), '')
            FROM jsonb_array_elements_text(CAST(licenses AS jsonb)) l), '') END
        || '|_b' || substr('0123456789abcdefghijklmnopqrstuv', created / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', created / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', created % 32 + 1, 1)
        || '|_i' || substr('0123456789abcdefghijklmnopqrstuv', signed_in / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', signed_in / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', signed_in % 32 + 1, 1)
        || CASE WHEN active > 0 THEN '|_a' || substr('0123456789abcdefghijklmnopqrstuv', active / 1024 + 1, 1)
            || substr('0123456789abcdefghijklmnopqrstuv', active / 32 % 32 + 1, 1) || substr('0123456789abcdefghijklmnopqrstuv', active % 32 + 1, 1) ELSE '' END AS terms
    FROM (SELECT *, CAST(LEAST(GREATEST(created_at, 0) / 86400000, 32767) AS INTEGER) AS created,
        CAST(LEAST(GREATEST(last_sign_in_at, 0) / 86400000, 32767) AS INTEGER) AS signed_in,
        CAST(LEAST(GREATEST(COALESCE(NULLIF(last_success_at, 0), NULLIF(last_sign_in_at, 0), created_at), 0) / 86400000, 32767) AS INTEGER) AS active
        FROM cache.directory_user WHERE shadow = 0) u;

