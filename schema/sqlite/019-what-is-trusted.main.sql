-- The event of a task's end as the worker wrote it, and its proof under the seal key: a row without a valid proof is not sent.
ALTER TABLE event ADD COLUMN body TEXT;
ALTER TABLE event ADD COLUMN proof TEXT;

-- Main has the wish alone to have a chain verified; what was found lies where only the worker writes (audit.verified).
ALTER TABLE audit_check DROP COLUMN claimed_at;
ALTER TABLE audit_check DROP COLUMN verified_to;
ALTER TABLE audit_check DROP COLUMN hash;
ALTER TABLE audit_check DROP COLUMN verified_at;
ALTER TABLE audit_check DROP COLUMN full_at;
ALTER TABLE audit_check DROP COLUMN broken_at;
ALTER TABLE audit_check DROP COLUMN reason;
