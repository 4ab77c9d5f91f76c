-- Addresses, UPNs or others, that several accounts of one directory carry, with each of them. A cache of another version is synchronised anew, so the search keys have further addresses from now on, too.
CREATE TABLE cache.shared_address (
    tenant_id TEXT NOT NULL,
    address   TEXT NOT NULL, -- folded
    owner_id  TEXT NOT NULL,
    directory TEXT NOT NULL,
    PRIMARY KEY (tenant_id, address, owner_id, directory)
) WITHOUT ROWID;
DROP INDEX cache.directory_user_shared;
ALTER TABLE cache.directory_user DROP COLUMN shared;
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES ('shared_address', 'shared_address', '100 100 2 1 1');
