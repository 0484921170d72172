-- What a whole chat is set to: to which messages the bot listens, and whether
-- its people share a session.
CREATE TABLE chat_setting (
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    listen  TEXT NOT NULL DEFAULT '', -- mention, reply, all; '' = the configured default
    sharing TEXT NOT NULL DEFAULT '', -- shared, person; '' = the configured default
    PRIMARY KEY (account, chat)
) STRICT, WITHOUT ROWID;

-- A place that went on elsewhere: its group became a supergroup, or its topic
-- was deleted and somebody said where its words are to go.
ALTER TABLE place ADD COLUMN moved_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE place ADD COLUMN nameless INTEGER NOT NULL DEFAULT 0; -- its topic waits for a name

-- The new addresses of chats, for what still comes or goes under the old ones.
CREATE TABLE chat_moved (
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    to_chat TEXT NOT NULL,
    space   TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (account, chat)
) STRICT, WITHOUT ROWID;
