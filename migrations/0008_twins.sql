-- What is the same in a message that a service delivers once more under another
-- id; empty where it does not do that.
ALTER TABLE inbound ADD COLUMN twin TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX inbound_twin ON inbound (account, twin) WHERE twin <> '';
