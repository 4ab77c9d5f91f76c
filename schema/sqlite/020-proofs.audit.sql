-- What the last verification found that no record made: how many, and the first of them as a sentence.
ALTER TABLE audit.verified ADD COLUMN strays BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit.verified ADD COLUMN stray TEXT;
