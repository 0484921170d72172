-- Events as they came that an adapter could not understand, the newest ones of
-- each account: for whoever looks into it.
CREATE TABLE unread (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    hash    TEXT NOT NULL, -- SHA-256 of raw: the same one again is not kept twice
    raw     BLOB NOT NULL,
    why     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    UNIQUE (account, hash)
) STRICT;
