-- Checkpoints leave by a file and the system's log alone.
DROP INDEX audit.checkpoint_untold;
ALTER TABLE audit.checkpoint DROP COLUMN told;
