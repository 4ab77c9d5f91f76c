-- For statements: the document, which is sealed, says the same.
ALTER TABLE tenant ADD COLUMN state TEXT NOT NULL DEFAULT ''; -- paused, deleted; '': in service
