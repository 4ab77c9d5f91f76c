-- What the console tells of a task: how it was asked for (rest console command workflow), and what a person did with it last.
ALTER TABLE task ADD COLUMN via TEXT COLLATE "C" NOT NULL DEFAULT 'rest';
ALTER TABLE task ADD COLUMN change TEXT COLLATE "C";                      -- audit action; NULL: nobody has changed it
ALTER TABLE task ADD COLUMN change_by TEXT COLLATE "C";
ALTER TABLE task ADD COLUMN change_at BIGINT NOT NULL DEFAULT 0;
-- API keys queued no access before this version: what does not carry the name of one was asked for at the shell.
UPDATE task SET via = 'command' WHERE type LIKE 'access%'
    AND NOT EXISTS (SELECT 1 FROM api_key k WHERE k.tenant_id = task.tenant_id AND k.username = task.username);

-- Lists and days by due instant; hires and leavers by month; how punctually tasks began.
CREATE INDEX task_state_due ON task (tenant_id, state, due_at, id, type);
CREATE INDEX task_done ON task (tenant_id, type, finished_at) WHERE state = 'done';
CREATE INDEX task_started ON task (tenant_id, started_at) WHERE started_at > 0;

-- Why a request was decided as it was.
ALTER TABLE access_request ADD COLUMN reason TEXT COLLATE "C";
