-- Disabled accounts that still have licences: counted from here alone.
CREATE INDEX directory_user_disabled_licensed ON cache.directory_user (tenant_id, shadow, enabled, licenses)
    WHERE shadow = 0 AND enabled = 0 AND licenses <> '[]';
