-- What makes a first load cheaper: a run applies people in the order of lists, SQLite keeps its
-- staging outside the cache file, and its index of terms holds beginnings of words as terms.

-- Items that the run at work has staged; 0 when none is at work.
ALTER TABLE cache.sync_state ADD COLUMN staged_users BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cache.sync_state ADD COLUMN staged_groups BIGINT NOT NULL DEFAULT 0;

-- Of a user: the key that lists are sorted by. Rows, and all that follows from them, are written
-- in that order, so that a transaction changes few pages.
ALTER TABLE cache.staging ADD COLUMN sort TEXT NOT NULL DEFAULT '';
CREATE INDEX cache.staging_sort ON staging (tenant_id, directory, run, sort, id)
    WHERE kind = 'user';
CREATE INDEX cache.staging_gone ON staging (tenant_id, directory, run, kind, id)
    WHERE op = 'delete';

--- sqlite
-- The cache file holds the form of staging only: each connection of a synchronisation makes a
-- copy of it in a nameless file of its own (core/db/sqlite_staging.c).
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES
    ('staging', 'staging_sort', '100000 100000 50000 50000 2 1'),
    ('staging', 'staging_gone', '1000 1000 500 500 300 1');

-- The terms in the index are made of the view's by terms() (core/db/sqlite_terms.c): the
-- beginnings of words and of days, and all terms of a disabled person once more behind a ~. What
-- terms() returns is part of this schema, because what is taken out of the index must be exactly
-- what was put in. The engine's own prefixes would index the beginnings of every term, and end at
-- fewer letters.
DROP TABLE cache.person_index;
CREATE VIRTUAL TABLE cache.person_index USING fts5(terms, content='', detail=none, columnsize=0,
    tokenize="ascii tokenchars '_~'");
INSERT INTO cache.person_index (person_index, rank) VALUES ('automerge', 16);
INSERT INTO cache.person_index (person_index, rank) VALUES ('hashsize', 16777216);
--- postgresql
-- Empties staging if it is large and holds no other run's items: deleted rows would keep the room
-- of the largest load for ever. Waits for nobody.
CREATE FUNCTION cache.staging_truncate(of_tenant text, of_directory text) RETURNS BIGINT
    LANGUAGE plpgsql AS $$
BEGIN
    IF pg_relation_size('cache.staging') < 16777216 THEN
        RETURN 0;
    END IF;
    LOCK TABLE cache.staging IN ACCESS EXCLUSIVE MODE NOWAIT;
    IF EXISTS (SELECT 1 FROM cache.staging
            WHERE (tenant_id, directory) < (of_tenant, of_directory))
        OR EXISTS (SELECT 1 FROM cache.staging
            WHERE (tenant_id, directory) > (of_tenant, of_directory)) THEN
        RETURN 0;
    END IF;
    TRUNCATE cache.staging;
    RETURN 1;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

-- Terms as before, and those of a disabled person once more behind a ~.
DROP VIEW cache.person_terms;
CREATE VIEW cache.person_words AS SELECT tenant_id, directory, id, name_key, enabled,
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
CREATE VIEW cache.person_terms AS SELECT tenant_id, directory, id, name_key,
        CASE WHEN enabled = 0 THEN terms || replace(terms, '|', '|~') ELSE terms END AS terms
    FROM cache.person_words;
