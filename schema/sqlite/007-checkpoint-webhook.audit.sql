-- told: the receiver of audit_webhook has answered that it took this checkpoint.
ALTER TABLE audit.checkpoint ADD COLUMN told SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX audit.checkpoint_untold ON checkpoint (tenant_id, number) WHERE told = 0;
