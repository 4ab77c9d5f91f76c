-- Who made a key: the signed-in name, or the operating-system user of idadminctl; NULL: nobody wrote it down then.
ALTER TABLE api_key ADD COLUMN created_by TEXT COLLATE "C";

-- When the certificate ends that the workers sign in to the directory with, as one of them read it; 0: there is none, or nobody has looked.
ALTER TABLE directory_state ADD COLUMN secret_expires_at BIGINT NOT NULL DEFAULT 0;
