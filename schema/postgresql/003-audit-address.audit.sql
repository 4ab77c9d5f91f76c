-- Where a call came from. Part of what erasure takes out; NULL for what was recorded before, and for what has no client.
ALTER TABLE audit.record ADD COLUMN address TEXT;
