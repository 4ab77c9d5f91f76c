-- Disabled accounts that still have licences: counted from here alone, so every column that the count asks for is in it.
CREATE INDEX cache.directory_user_disabled_licensed ON directory_user (tenant_id, shadow, enabled, licenses)
    WHERE shadow = 0 AND enabled = 0 AND licenses <> '[]';
INSERT INTO cache.sqlite_stat1 (tbl, idx, stat) VALUES ('directory_user', 'directory_user_disabled_licensed', '5000 5000 5000 5000 50');
