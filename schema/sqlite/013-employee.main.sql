-- Compared folded, as directories compare texts.
UPDATE task SET employee_id = lower(employee_id) WHERE employee_id IS NOT NULL;
