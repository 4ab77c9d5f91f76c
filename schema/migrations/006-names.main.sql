-- Whom the names of the tenant document mean: see core/governance/named.c.
CREATE TABLE named_account (
    tenant_id TEXT   NOT NULL PRIMARY KEY REFERENCES tenant (id),
    revision  BIGINT NOT NULL, -- of the document; those of another one do not count
    accounts  TEXT   NOT NULL, -- JSON: "PLACE NAME" -> {id, fault}
    proof     TEXT   NOT NULL  -- under the seal key
);
