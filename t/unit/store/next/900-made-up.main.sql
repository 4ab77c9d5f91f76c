-- What a next version may change, for the tests of upgrades: applied behind the true migrations.
ALTER TABLE task ADD COLUMN made_up TEXT;
UPDATE task SET made_up = upn;
CREATE TABLE made_up (
    tenant_id TEXT   NOT NULL REFERENCES tenant (id),
    engine    TEXT   NOT NULL,
    PRIMARY KEY (tenant_id, engine)
) COMPACT;
--- sqlite
INSERT INTO made_up SELECT id, 'SQLite' FROM tenant;
--- postgresql
INSERT INTO made_up SELECT id, 'PostgreSQL' FROM tenant;
