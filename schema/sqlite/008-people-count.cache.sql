-- How many people lists hold, by what totals are asked for: so that a total is read and nobody is counted. Each listed person is in one row.
-- Triggers keep it, because a person changes in many ways.
CREATE TABLE cache.people_count (
    tenant_id TEXT     NOT NULL,
    enabled   SMALLINT NOT NULL,
    guest     SMALLINT NOT NULL,
    managed   SMALLINT NOT NULL, -- 1: the directory names a manager
    people    BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, enabled, guest, managed)
) WITHOUT ROWID;
CREATE TRIGGER cache.people_count_comes AFTER INSERT ON directory_user WHEN NEW.shadow = 0 BEGIN
    INSERT INTO people_count (tenant_id, enabled, guest, managed, people)
        VALUES (NEW.tenant_id, NEW.enabled, NEW.guest, COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL, 1)
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = people + 1;
END;
CREATE TRIGGER cache.people_count_goes AFTER DELETE ON directory_user WHEN OLD.shadow = 0 BEGIN
    UPDATE people_count SET people = people - 1 WHERE tenant_id = OLD.tenant_id AND enabled = OLD.enabled AND guest = OLD.guest
        AND managed = (COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL);
END;
CREATE TRIGGER cache.people_count_changes AFTER UPDATE OF tenant_id, shadow, enabled, guest, manager_id, manager_ref ON directory_user
    WHEN (OLD.tenant_id, OLD.shadow, OLD.enabled, OLD.guest, COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL)
    <> (NEW.tenant_id, NEW.shadow, NEW.enabled, NEW.guest, COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL) BEGIN
    UPDATE people_count SET people = people - 1 WHERE OLD.shadow = 0 AND tenant_id = OLD.tenant_id AND enabled = OLD.enabled AND guest = OLD.guest
        AND managed = (COALESCE(OLD.manager_id, OLD.manager_ref) IS NOT NULL);
    INSERT INTO people_count (tenant_id, enabled, guest, managed, people)
        SELECT NEW.tenant_id, NEW.enabled, NEW.guest, COALESCE(NEW.manager_id, NEW.manager_ref) IS NOT NULL, 1 WHERE NEW.shadow = 0
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = people + 1;
END;
