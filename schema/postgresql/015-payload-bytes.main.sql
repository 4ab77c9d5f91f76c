-- How much of the store a task's payload takes, for the company's budget; large ones are found by
-- the index.
ALTER TABLE task_payload ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE task_payload SET bytes = octet_length(payload);
CREATE INDEX task_payload_large ON task_payload (task_id, bytes) WHERE bytes >= 4096;

-- Why a worker takes no work; NULL: it does.
ALTER TABLE worker ADD COLUMN fault TEXT;
