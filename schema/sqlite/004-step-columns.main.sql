-- What a step is stands in columns. Until now an action of a workflow was named "<workflow>/<position> <type>", and a step of the person's
-- account in the other directory "<step>@cloud". `name` is now the step's own, or the type of the action.
ALTER TABLE task_step ADD COLUMN workflow TEXT;                                 -- whose action it is; NULL: a step of the task's own
ALTER TABLE task_step ADD COLUMN workflow_position BIGINT NOT NULL DEFAULT 0;   -- of the action, from 1
ALTER TABLE task_step ADD COLUMN account TEXT;                                  -- directory of the account it acts on; NULL: the task's

-- Names of workflows may hold blanks and slashes, types hold neither: the last blank ends the position, which the digits before it are. Steps of
-- accessGrant and accessRevoke are named after what they give, so they may look like anything.
WITH to_blank AS (SELECT s.task_id, s.position, s.name, rtrim(s.name, replace(s.name, ' ', '')) AS head
        FROM task_step s JOIN task t ON t.id = s.task_id WHERE t.type NOT LIKE 'access%' AND s.name LIKE '%/%'),
    placed AS (SELECT task_id, position, substr(name, length(head) + 1) AS type, substr(head, 1, length(head) - 1) AS place FROM to_blank),
    action AS (SELECT task_id, position, type, place, rtrim(place, '0123456789') AS slashed FROM placed)
UPDATE task_step SET workflow = substr(a.slashed, 1, length(a.slashed) - 1), name = a.type,
        workflow_position = CAST(substr(a.place, length(a.slashed) + 1) AS INTEGER)
    FROM action a WHERE a.task_id = task_step.task_id AND a.position = task_step.position AND a.slashed LIKE '_%/' AND a.slashed <> a.place;
UPDATE task_step SET name = substr(name, 1, length(name) - length('@cloud')), account = 'cloud'
    WHERE workflow IS NULL AND name LIKE '%@cloud' AND (SELECT t.type FROM task t WHERE t.id = task_step.task_id) NOT LIKE 'access%';
