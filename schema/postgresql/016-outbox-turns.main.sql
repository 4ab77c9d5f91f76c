-- Companies whose records wait take turns: the next one, and its oldest records, by the index.
CREATE INDEX audit_outbox_turn ON audit_outbox (tenant_id, rid);
