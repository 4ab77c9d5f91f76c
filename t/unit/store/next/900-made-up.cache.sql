ALTER TABLE cache.counter ADD COLUMN made_up TEXT;
