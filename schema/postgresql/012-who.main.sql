-- A person is the directory's ID, never an address, which may be given to somebody else. who: the ID of the person's account where it is mastered
-- once it is known, else the folded UPN (a creation that has made no account yet). Order, locks and questions go by it; person stays the folded UPN
-- that the task was asked for under.
ALTER TABLE task ADD COLUMN who TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE task SET who = COALESCE(object_id, person);
DROP INDEX task_order;
DROP INDEX task_person;
DROP INDEX task_seat;
CREATE INDEX task_order ON task (tenant_id, who, due_at, id) WHERE state = 'queued';
CREATE INDEX task_who ON task (tenant_id, who, id, type, state);
CREATE INDEX task_seat ON task (tenant_id, who) WHERE seat = 1 AND marker IS NOT NULL;
-- What was asked for under an address, and of whom.
CREATE INDEX task_address ON task (tenant_id, person, state, who);

-- user_lock.person is the task's who.
DELETE FROM user_lock;
INSERT INTO user_lock (tenant_id, person, task_id)
    SELECT tenant_id, who, min(id) FROM task WHERE state = 'running' GROUP BY tenant_id, who;

-- One assignment of a template for each person, not for each address. who: user_id, where it is known, else person.
ALTER TABLE role_assignment ADD COLUMN who TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE role_assignment SET who = COALESCE(user_id, person);
DELETE FROM role_assignment a USING role_assignment b WHERE a.tenant_id = b.tenant_id AND a.template_id = b.template_id AND a.who = b.who
    AND a.person > b.person;
ALTER TABLE role_assignment DROP CONSTRAINT role_assignment_pkey;
ALTER TABLE role_assignment ADD PRIMARY KEY (tenant_id, template_id, who);
ALTER TABLE role_assignment ALTER COLUMN who DROP DEFAULT;
-- With what attribution reads, which was a part of the key before.
DROP INDEX role_assignment_person;
DROP INDEX role_assignment_user;
CREATE INDEX role_assignment_person ON role_assignment (tenant_id, person, user_id);
CREATE INDEX role_assignment_user ON role_assignment (tenant_id, user_id, person);
CREATE INDEX role_assignment_who ON role_assignment (tenant_id, who);
