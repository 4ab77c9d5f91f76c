-- How many requests of a key may be under way at the same time; 0: as many as come.
ALTER TABLE api_key ADD COLUMN concurrency SMALLINT NOT NULL DEFAULT 0;
