ALTER TABLE audit.record ADD COLUMN made_up TEXT;
CREATE INDEX audit.record_made_up ON record (tenant_id, made_up);
