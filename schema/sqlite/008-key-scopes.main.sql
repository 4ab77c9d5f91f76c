-- What a read-only key is limited to: names with commas between; NULL: everything its access level says.
ALTER TABLE api_key ADD COLUMN scopes TEXT;
