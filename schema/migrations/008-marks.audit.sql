-- What tasks and API keys were after the change that a record is about (core/audit/marks.h); NULL:
-- the record is older than this column, and says nothing of them.
ALTER TABLE audit.record ADD COLUMN marks TEXT;
