-- The agent's id of the session whose memory a session begins with, empty for
-- most; it counts until the session has an id of its own.
ALTER TABLE session ADD COLUMN fork TEXT NOT NULL DEFAULT '';
