-- The brake counts every task that disables an account: offboardings, and updates with accountEnabled false.
ALTER TABLE task ADD COLUMN disables SMALLINT NOT NULL DEFAULT 0;
UPDATE task SET disables = 1 WHERE type = 'userDelete' OR (type = 'userUpdate' AND EXISTS
    (SELECT 1 FROM task_payload p WHERE p.task_id = task.id AND CAST(p.payload AS json) ->> 'accountEnabled' = 'false'));
DROP INDEX task_offboarding_start;
CREATE INDEX task_disabling_start ON task (tenant_id, started_at) WHERE disables = 1;

-- Of a creation: a second one with the same number is refused while the first is open.
ALTER TABLE task ADD COLUMN employee_id TEXT COLLATE "C";
UPDATE task SET employee_id = (SELECT CAST(payload AS json) ->> 'employeeId' FROM task_payload WHERE task_id = task.id)
    WHERE type = 'userCreate' AND state IN ('queued', 'running', 'attention');
CREATE INDEX task_employee ON task (tenant_id, employee_id) WHERE employee_id IS NOT NULL AND state IN ('queued', 'running', 'attention');

-- Networks that a key may be used from, as core/base/network.c writes them; NULL: from anywhere.
ALTER TABLE api_key ADD COLUMN allowed_from TEXT COLLATE "C";
