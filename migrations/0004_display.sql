-- How a conversation wants to be answered.
ALTER TABLE conversation ADD COLUMN verbosity TEXT NOT NULL DEFAULT ''; -- 0 to 3; '' = the configured default
ALTER TABLE conversation ADD COLUMN rich TEXT NOT NULL DEFAULT '';      -- on, off; '' = the configured default
