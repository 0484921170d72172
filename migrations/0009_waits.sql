-- The queued turn that a message tells of: what can be done about its waiting
-- is offered only while it waits.
ALTER TABLE outbox ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbox_waits ON outbox (waits) WHERE waits > 0;
