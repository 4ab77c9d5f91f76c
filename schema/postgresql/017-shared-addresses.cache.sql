-- Addresses, UPNs or others, that several accounts of one directory carry, with each of them. A cache of another version is synchronised anew, so the search keys have further addresses from now on, too.
CREATE TABLE cache.shared_address (
    tenant_id TEXT COLLATE "C" NOT NULL,
    address   TEXT COLLATE "C" NOT NULL, -- folded
    owner_id  TEXT COLLATE "C" NOT NULL,
    directory TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, address, owner_id, directory)
);
DROP INDEX cache.directory_user_shared;
-- The view is as before: it names all columns of the table.
DROP VIEW cache.person_terms;
ALTER TABLE cache.directory_user DROP COLUMN shared;
CREATE VIEW cache.person_terms AS SELECT tenant_id, directory, id, name_key, replace(replace(replace(search_key, ' |', '|'), '.|', '|'), '@|', '|')
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
