-- How a conversation wants to be answered.
ALTER TABLE conversation ADD COLUMN verbosity TEXT NOT NULL DEFAULT ''; -- 0 to 3; '' = the configured default
ALTER TABLE conversation ADD COLUMN rich TEXT NOT NULL DEFAULT '';      -- on, off; '' = the configured default

-- Until when a service wants no call in a channel; what told so may have left no row.
CREATE TABLE pause (
    channel TEXT PRIMARY KEY,
    until   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
