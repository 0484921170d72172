-- What a whole chat is set to: to which messages the bot listens, and whether
-- its people share a session.
CREATE TABLE chat_setting (
    account TEXT NOT NULL,
    chat    TEXT NOT NULL,
    listen  TEXT NOT NULL DEFAULT '', -- mention, reply, all; '' = the configured default
    sharing TEXT NOT NULL DEFAULT '', -- shared, person; '' = the configured default
    PRIMARY KEY (account, chat)
) STRICT, WITHOUT ROWID;
