-- The request that queued a task: its identity, and its trace as it is passed on. NULL: the task is
-- older, or no request asked for it.
ALTER TABLE task ADD COLUMN correlation TEXT;
ALTER TABLE task ADD COLUMN trace TEXT;

-- When the password expires that a worker binds with. 0: not known.
ALTER TABLE directory_state ADD COLUMN password_expires_at BIGINT NOT NULL DEFAULT 0;
