-- When the first intent was written of a send whose outcome is not known; 0 = not
-- noted. A service remembers for a while only what it was sent.
ALTER TABLE outbox ADD COLUMN intent_at INTEGER NOT NULL DEFAULT 0;
