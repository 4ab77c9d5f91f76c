-- What releases a task from the brake, and what says that an audit record is this service's, are proofs under the seal key.
ALTER TABLE task DROP COLUMN released;
ALTER TABLE task ADD COLUMN released TEXT;
ALTER TABLE audit_outbox ADD COLUMN proof TEXT;
