-- A session is told once where to put the files that its chat is to receive.
ALTER TABLE session ADD COLUMN briefed INTEGER NOT NULL DEFAULT 0;

-- The file in the spool that a row sends; kept while the row is open.
ALTER TABLE outbox ADD COLUMN spool TEXT NOT NULL DEFAULT '';
CREATE INDEX outbox_spool ON outbox (spool) WHERE spool <> '';
