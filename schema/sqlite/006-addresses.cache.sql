-- What callers can write can be read back. (A cache of another version is made anew and synced again, so no row lacks them.)
ALTER TABLE cache.directory_user ADD COLUMN street_address TEXT;
ALTER TABLE cache.directory_user ADD COLUMN postal_code TEXT;
ALTER TABLE cache.directory_user ADD COLUMN preferred_language TEXT;
-- When the sign-ins that a run knows of were read; they have a pace of their own. 0: with the run itself.
ALTER TABLE cache.sync_state ADD COLUMN sign_ins_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX cache.directory_user_disabled ON directory_user (tenant_id, name_key, id) WHERE shadow = 0 AND enabled = 0;
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES ('directory_user', 'directory_user_disabled', '10000 10000 2 1');
