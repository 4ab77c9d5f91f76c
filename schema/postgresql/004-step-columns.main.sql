-- What a step is stands in columns. Until now an action of a workflow was named "<workflow>/<position> <type>", and a step of the person's
-- account in the other directory "<step>@cloud". `name` is now the step's own, or the type of the action.
ALTER TABLE task_step ADD COLUMN workflow TEXT COLLATE "C";                     -- whose action it is; NULL: a step of the task's own
ALTER TABLE task_step ADD COLUMN workflow_position BIGINT NOT NULL DEFAULT 0;   -- of the action, from 1
ALTER TABLE task_step ADD COLUMN account TEXT COLLATE "C";                      -- directory of the account it acts on; NULL: the task's

-- Names of workflows may hold blanks and slashes, types hold neither: the last blank ends the position, which the digits before it are. Steps of
-- accessGrant and accessRevoke are named after what they give, so they may look like anything.
UPDATE task_step s SET workflow = substring(s.name from '^(.+)/[0-9]+ [^ ]+$'),
        workflow_position = CAST(substring(s.name from '/([0-9]+) [^ ]+$') AS BIGINT), name = substring(s.name from ' ([^ ]+)$')
    FROM task t WHERE t.id = s.task_id AND t.type NOT LIKE 'access%' AND s.name ~ '^.+/[0-9]{1,9} [^ ]+$';
UPDATE task_step s SET name = left(s.name, -length('@cloud')), account = 'cloud'
    FROM task t WHERE t.id = s.task_id AND t.type NOT LIKE 'access%' AND s.workflow IS NULL AND s.name LIKE '%@cloud';
