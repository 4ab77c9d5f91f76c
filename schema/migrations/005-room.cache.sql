-- What makes a first load on PostgreSQL cheaper, and its cache smaller. (And 001 has one column less:
-- a cache is never migrated, but made anew from all of these.)
--- postgresql
-- Items of more than 2 kB, members above all, were compressed one by one for the minute for which
-- they lie here.
ALTER TABLE cache.staging SET (toast_tuple_target = 8160);

-- As before, but wide numbers first: no room is lost to alignment.
DROP TABLE cache.membership;
CREATE TABLE cache.membership (
    group_no     BIGINT   NOT NULL,           -- entry
    member_no    BIGINT   NOT NULL,           -- entry
    listed       BIGINT   NOT NULL DEFAULT 0, -- last run that listed it; a list removes others
    run          BIGINT   NOT NULL DEFAULT 0, -- newest run at its write-through
    written_at   BIGINT   NOT NULL DEFAULT 0,
    nested       SMALLINT NOT NULL,           -- 1: the member is a group
    removed      SMALLINT NOT NULL DEFAULT 0, -- 1: removed by the worker; kept while a late page
                                              -- could still contradict
    contradicted SMALLINT NOT NULL DEFAULT 0, -- 1: within the protection the directory last said
                                              -- the opposite
    tenant_id    TEXT     NOT NULL,
    PRIMARY KEY (tenant_id, group_no, member_no)
);
-- Numbers are the whole store's, so the index by member needs no tenant.
CREATE INDEX cache.membership_member ON membership (member_no, group_no);
CREATE INDEX cache.membership_nested ON membership (group_no, member_no)
    WHERE nested = 1 AND removed = 0;
CREATE INDEX cache.membership_written ON membership (written_at) WHERE written_at > 0;
