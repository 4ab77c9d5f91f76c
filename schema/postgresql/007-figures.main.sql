-- What the console counts: tasks by the day they fall due, by the month they were done, by the hour they began.
CREATE INDEX task_due_day ON task (tenant_id, due_at, state, type, started_at, created_at);
CREATE INDEX task_done_month ON task (tenant_id, type, finished_at, state) WHERE finished_at > 0;
CREATE INDEX task_begun ON task (tenant_id, started_at, due_at, created_at) WHERE started_at > 0;
