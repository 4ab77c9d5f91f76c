-- What people are found by.
ALTER TABLE cache.directory_user ADD COLUMN company_key TEXT COLLATE "C"; -- folded
ALTER TABLE cache.directory_user ADD COLUMN title_key TEXT COLLATE "C";   -- folded
ALTER TABLE cache.directory_user ADD COLUMN place BIGINT; -- of the other engine
CREATE TABLE cache.person_stale (place BIGINT NOT NULL, was TEXT COLLATE "C", PRIMARY KEY (place)); -- of the other engine
