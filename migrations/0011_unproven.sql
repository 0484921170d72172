-- A model that was chosen since a turn of the session succeeded, and the one
-- before it, which comes back when the agent knows no such model.
ALTER TABLE session ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN proven_model TEXT NOT NULL DEFAULT '';
