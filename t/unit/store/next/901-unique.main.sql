-- Fails where two tasks have the same UPN.
CREATE UNIQUE INDEX task_made_up ON task (tenant_id, made_up);
