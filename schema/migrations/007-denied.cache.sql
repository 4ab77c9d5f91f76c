-- When a read of the single entry first contradicted what the worker had written (ms UTC); of no
-- meaning once it is older than written_at.
ALTER TABLE cache.directory_user ADD COLUMN denied_at BIGINT NOT NULL DEFAULT 0;
