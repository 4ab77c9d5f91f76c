-- What people are found by besides their names.
ALTER TABLE cache.directory_user ADD COLUMN company_key TEXT; -- folded
ALTER TABLE cache.directory_user ADD COLUMN title_key TEXT;   -- folded
