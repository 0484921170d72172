-- A session is told once where to put the files that its chat is to receive.
ALTER TABLE session ADD COLUMN briefed INTEGER NOT NULL DEFAULT 0;
