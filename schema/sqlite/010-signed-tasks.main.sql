-- A proof that a task stands as somebody with the key wrote it: the key's name and an HMAC over what the worker acts on (core/model/task_mac.h),
-- made anew at signed_at; 'held': a worker found that it does not fit. NULL: queued before there were keys, which schema upgrade signs once.
ALTER TABLE task ADD COLUMN mac TEXT;
ALTER TABLE task ADD COLUMN signed_at BIGINT NOT NULL DEFAULT 0;
