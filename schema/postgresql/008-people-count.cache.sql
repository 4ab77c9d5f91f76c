-- How many people lists hold, by what totals are asked for: so that a total is read and nobody is counted. Each listed person is in one row.
-- Triggers keep it, because a person changes in many ways: once a statement, as a row that one transaction writes for each person is found ever
-- more slowly.
CREATE TABLE cache.people_count (
    tenant_id TEXT COLLATE "C" NOT NULL,
    enabled   SMALLINT NOT NULL,
    guest     SMALLINT NOT NULL,
    managed   SMALLINT NOT NULL, -- 1: the directory names a manager
    people    BIGINT   NOT NULL,
    PRIMARY KEY (tenant_id, enabled, guest, managed)
);
CREATE FUNCTION cache.people_count_comes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.people_count AS k (tenant_id, enabled, guest, managed, people)
        SELECT tenant_id, enabled, guest, CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed, count(*)
        FROM come WHERE shadow = 0 GROUP BY 1, 2, 3, 4
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = k.people + excluded.people;
    RETURN NULL;
END $$;
CREATE FUNCTION cache.people_count_goes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE cache.people_count k SET people = k.people - x.people FROM (
        SELECT tenant_id, enabled, guest, CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed, count(*) AS people
        FROM gone WHERE shadow = 0 GROUP BY 1, 2, 3, 4) x
        WHERE k.tenant_id = x.tenant_id AND k.enabled = x.enabled AND k.guest = x.guest AND k.managed = x.managed;
    RETURN NULL;
END $$;
CREATE FUNCTION cache.people_count_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cache.people_count AS k (tenant_id, enabled, guest, managed, people)
        SELECT tenant_id, enabled, guest, CASE WHEN COALESCE(manager_id, manager_ref) IS NULL THEN 0 ELSE 1 END AS managed, sum(n)
        FROM (SELECT tenant_id, enabled, guest, manager_id, manager_ref, 1 AS n FROM come WHERE shadow = 0
            UNION ALL SELECT tenant_id, enabled, guest, manager_id, manager_ref, -1 FROM gone WHERE shadow = 0) x GROUP BY 1, 2, 3, 4
        HAVING sum(n) <> 0
        ON CONFLICT (tenant_id, enabled, guest, managed) DO UPDATE SET people = k.people + excluded.people;
    RETURN NULL;
END $$;
CREATE TRIGGER people_count_comes AFTER INSERT ON cache.directory_user REFERENCING NEW TABLE AS come FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_comes();
CREATE TRIGGER people_count_goes AFTER DELETE ON cache.directory_user REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_goes();
CREATE TRIGGER people_count_changes AFTER UPDATE ON cache.directory_user REFERENCING OLD TABLE AS gone NEW TABLE AS come FOR EACH STATEMENT
    EXECUTE FUNCTION cache.people_count_changes();
