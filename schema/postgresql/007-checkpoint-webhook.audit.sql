-- told: the receiver of audit_webhook has answered that it took this checkpoint.
ALTER TABLE audit.checkpoint ADD COLUMN told SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX checkpoint_untold ON audit.checkpoint (tenant_id, number) WHERE told = 0;
