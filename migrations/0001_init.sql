-- The ledger. Times are UTC microseconds. Bodies carry a CRC32C; they come last
-- in their row, because what is behind a big column is slow to read.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cursor (
    account TEXT PRIMARY KEY,
    value   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE conversation (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    session   INTEGER NOT NULL DEFAULT 0,
    previous  INTEGER NOT NULL DEFAULT 0,
    agent     TEXT NOT NULL DEFAULT '',
    workspace TEXT NOT NULL DEFAULT '',
    model     TEXT NOT NULL DEFAULT '',
    mode      TEXT NOT NULL DEFAULT '',
    lang      TEXT NOT NULL DEFAULT '',
    at        INTEGER NOT NULL
) STRICT;

CREATE TABLE place (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    platform     TEXT NOT NULL,
    account      TEXT NOT NULL,
    chat         TEXT NOT NULL,
    thread       TEXT NOT NULL DEFAULT '',
    person       TEXT NOT NULL DEFAULT '',
    direct       INTEGER NOT NULL DEFAULT 0,
    space        TEXT NOT NULL DEFAULT '',
    title        TEXT NOT NULL DEFAULT '',
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    parked       INTEGER NOT NULL DEFAULT 0, -- the chat cannot be reached until it speaks again
    UNIQUE (account, chat, thread, person)
) STRICT;
CREATE INDEX place_conversation ON place (conversation);

CREATE TABLE person (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    ext     TEXT NOT NULL, -- the platform's immutable id
    name    TEXT NOT NULL DEFAULT '',
    lang    TEXT NOT NULL DEFAULT '',
    direct  INTEGER NOT NULL DEFAULT 0, -- the place of their direct chat, 0 = none yet
    seen_at INTEGER NOT NULL,
    UNIQUE (account, ext)
) STRICT;

-- A grant holds in one chat, or ('') in direct chats of the account.
CREATE TABLE access (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account    TEXT NOT NULL,
    chat       TEXT NOT NULL DEFAULT '',
    person     TEXT NOT NULL, -- ext; '*' = everybody in that chat
    role       TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    at         INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX access_live ON access (account, chat, person) WHERE revoked_at = 0;

CREATE TABLE pairing (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    hash       TEXT NOT NULL UNIQUE, -- SHA-256 of the code; the code itself is never stored
    account    TEXT NOT NULL,        -- '' = any
    role       TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used_by    TEXT NOT NULL DEFAULT '',
    used_at    INTEGER NOT NULL DEFAULT 0,
    at         INTEGER NOT NULL
) STRICT;

-- Wrong codes, counted per sender, so that guessing ends.
CREATE TABLE pairing_try (
    account TEXT NOT NULL,
    person  TEXT NOT NULL,
    tries   INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (account, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE stranger (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    person      TEXT NOT NULL,
    name        TEXT NOT NULL DEFAULT '',
    direct      INTEGER NOT NULL DEFAULT 0,
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    notified_at INTEGER NOT NULL DEFAULT 0,
    count       INTEGER NOT NULL DEFAULT 1,
    UNIQUE (account, chat, person)
) STRICT;

CREATE TABLE inbound (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account      TEXT NOT NULL,
    event_key    TEXT NOT NULL,
    place        INTEGER NOT NULL REFERENCES place (id),
    conversation INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    sender       TEXT NOT NULL,           -- ext
    role         TEXT NOT NULL,
    msg          TEXT NOT NULL DEFAULT '', -- platform message id
    space        TEXT NOT NULL DEFAULT '',
    num          INTEGER NOT NULL DEFAULT 0,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL DEFAULT '',
    sent_at      INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    body         BLOB NOT NULL,            -- chat.Message as JSON
    crc          INTEGER NOT NULL,
    UNIQUE (account, event_key)
) STRICT;
CREATE INDEX inbound_new ON inbound (id) WHERE state IN ('new', 'asked');
CREATE INDEX inbound_msg ON inbound (place, msg);
CREATE INDEX inbound_num ON inbound (account, space, num) WHERE num > 0;
CREATE INDEX inbound_conversation ON inbound (conversation, id);

CREATE TABLE session (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    agent        TEXT NOT NULL,
    workspace    TEXT NOT NULL,
    model        TEXT NOT NULL DEFAULT '',
    mode         TEXT NOT NULL DEFAULT '',
    seed         TEXT NOT NULL UNIQUE,
    begun        INTEGER NOT NULL DEFAULT 0, -- the seed may have reached the agent
    native_id    TEXT NOT NULL DEFAULT '',
    state        TEXT NOT NULL,
    title        TEXT NOT NULL DEFAULT '',
    recap        INTEGER NOT NULL DEFAULT 0,
    -- The inbound that asked for it, or minus the lost session that it
    -- succeeds: asked twice, made once.
    cause        INTEGER NOT NULL DEFAULT 0,
    epoch        INTEGER NOT NULL DEFAULT 1,
    created_at   INTEGER NOT NULL,
    used_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX session_conversation ON session (conversation, id);
CREATE UNIQUE INDEX session_cause ON session (cause) WHERE cause <> 0;

CREATE TABLE turn (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    session      INTEGER NOT NULL REFERENCES session (id),
    place        INTEGER NOT NULL REFERENCES place (id),
    origin       TEXT NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL DEFAULT '',
    sender       TEXT NOT NULL DEFAULT '', -- chat.Person as JSON
    reply_to     TEXT NOT NULL DEFAULT '', -- chat.Ref as JSON
    names        INTEGER NOT NULL DEFAULT 0,
    after        INTEGER NOT NULL DEFAULT 0,
    held         INTEGER NOT NULL DEFAULT 0,
    choice       TEXT NOT NULL DEFAULT '',
    cause        INTEGER NOT NULL DEFAULT 0, -- the click or command that made it: asked twice, made once
    usage        TEXT NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL DEFAULT 0,
    ended_at     INTEGER NOT NULL DEFAULT 0,
    body         BLOB NOT NULL, -- chat.Input as JSON
    crc          INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX turn_active ON turn (session) WHERE state IN ('running', 'waiting');
CREATE INDEX turn_queue ON turn (session, id) WHERE state = 'queued';
CREATE INDEX turn_session ON turn (session, id);
CREATE INDEX turn_conversation ON turn (conversation, id);
CREATE UNIQUE INDEX turn_cause ON turn (cause) WHERE cause > 0;

CREATE TABLE turn_input (
    inbound INTEGER PRIMARY KEY REFERENCES inbound (id),
    turn    INTEGER NOT NULL REFERENCES turn (id)
) STRICT;
CREATE INDEX turn_input_turn ON turn_input (turn);

CREATE TABLE attempt (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    turn       INTEGER NOT NULL REFERENCES turn (id),
    no         INTEGER NOT NULL,
    state      TEXT NOT NULL,
    runner     TEXT NOT NULL DEFAULT '',
    epoch      INTEGER NOT NULL DEFAULT 1,
    at         INTEGER NOT NULL,
    sent_at    INTEGER NOT NULL DEFAULT 0,
    ended_at   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (turn, no)
) STRICT;
CREATE INDEX attempt_open ON attempt (turn) WHERE state <> 'done';

CREATE TABLE ask (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    turn       INTEGER NOT NULL REFERENCES turn (id),
    session    INTEGER NOT NULL,
    place      INTEGER NOT NULL REFERENCES place (id),
    asker      TEXT NOT NULL, -- ext
    ask_key    TEXT NOT NULL,
    digest     TEXT NOT NULL,
    state      TEXT NOT NULL,
    answer     TEXT NOT NULL DEFAULT '', -- chat.Answer as JSON; partial while open
    expires_at INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    used_at    INTEGER NOT NULL DEFAULT 0,
    body       BLOB NOT NULL, -- chat.Question as JSON
    crc        INTEGER NOT NULL,
    UNIQUE (turn, ask_key, digest)
) STRICT;
CREATE INDEX ask_open ON ask (place) WHERE state = 'open';

-- "Allow in this session": our own rows, matched on the exact request.
CREATE TABLE rule (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session (id),
    digest  TEXT NOT NULL,
    ask     INTEGER NOT NULL,
    person  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    UNIQUE (session, digest)
) STRICT;

CREATE TABLE outbox (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    idem_key TEXT NOT NULL UNIQUE,
    place    INTEGER NOT NULL REFERENCES place (id),
    channel  TEXT NOT NULL,
    turn     INTEGER NOT NULL DEFAULT 0,
    seq      INTEGER NOT NULL DEFAULT 0,
    ask      INTEGER NOT NULL DEFAULT 0,
    class    TEXT NOT NULL,
    op       TEXT NOT NULL,
    target   TEXT NOT NULL DEFAULT '', -- chat.Ref as JSON
    state    TEXT NOT NULL,
    tries    INTEGER NOT NULL DEFAULT 0,
    since    INTEGER NOT NULL DEFAULT 0, -- highest number known in the id space when the intent was written
    due_at   INTEGER NOT NULL,
    epoch    INTEGER NOT NULL DEFAULT 1,
    error    TEXT NOT NULL DEFAULT '',
    at       INTEGER NOT NULL,
    body     BLOB NOT NULL,            -- chat.Part as JSON
    crc      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_turn ON outbox (turn, seq) WHERE turn > 0;
CREATE INDEX outbox_open ON outbox (channel, state DESC, id) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_ask ON outbox (ask) WHERE ask > 0;
CREATE INDEX outbox_place ON outbox (place, id);

CREATE TABLE receipt (
    outbox  INTEGER PRIMARY KEY REFERENCES outbox (id),
    account TEXT NOT NULL,
    msg     TEXT NOT NULL,
    space   TEXT NOT NULL DEFAULT '',
    num     INTEGER NOT NULL DEFAULT 0,
    ref     TEXT NOT NULL, -- chat.Ref as JSON
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX receipt_msg ON receipt (account, msg);
CREATE INDEX receipt_num ON receipt (account, space, num) WHERE num > 0;

CREATE TABLE login (
    hash       TEXT PRIMARY KEY, -- SHA-256 of a web session's secret or of a one-time token
    kind       TEXT NOT NULL,    -- once, web
    person     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dead (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind   TEXT NOT NULL, -- outbox, inbound
    ref    INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
) STRICT;
