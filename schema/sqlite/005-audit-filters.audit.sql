-- What a page of the log can be narrowed by: to whom or what it was done (folded; of what was recorded before, in ASCII letters), and without
-- what only asked. A question: a read that was answered.
ALTER TABLE audit.record ADD COLUMN target_key TEXT;
ALTER TABLE audit.record ADD COLUMN question SMALLINT NOT NULL DEFAULT 0;
UPDATE audit.record SET target_key = substr(lower(target), 1, 256) WHERE target IS NOT NULL;
UPDATE audit.record SET question = 1 WHERE outcome IN ('ok', 'toolError')
    AND (endpoint LIKE 'GET %' OR endpoint LIKE 'HEAD %' OR endpoint LIKE 'mcp%');
CREATE INDEX audit.record_target ON record (tenant_id, target_key, at, seq);
CREATE INDEX audit.record_deeds ON record (tenant_id, at, seq) WHERE question = 0;
