-- Effort beside model and mode; sessions that were begun elsewhere or were
-- handed over to a terminal; permissions that hold beyond one session.

ALTER TABLE conversation ADD COLUMN effort TEXT NOT NULL DEFAULT '';

ALTER TABLE session ADD COLUMN effort TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0;   -- its agent's session was begun elsewhere
ALTER TABLE session ADD COLUMN parked_at INTEGER NOT NULL DEFAULT 0; -- when it was handed over to a terminal
CREATE INDEX session_native ON session (agent, native_id) WHERE native_id <> '';

-- A permission of ours, matched on the exact request. session = 0: in every
-- session of its conversation with the same agent and workspace.
CREATE TABLE rule_new (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    session      INTEGER NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    agent        TEXT NOT NULL,
    workspace    TEXT NOT NULL,
    digest       TEXT NOT NULL,
    ask          INTEGER NOT NULL,
    person       TEXT NOT NULL,
    at           INTEGER NOT NULL
) STRICT;
INSERT INTO rule_new (id, session, conversation, agent, workspace, digest, ask, person, at)
SELECT r.id, r.session, s.conversation, s.agent, s.workspace, r.digest, r.ask, r.person, r.at
FROM rule r JOIN session s ON s.id = r.session;
DROP TABLE rule;
ALTER TABLE rule_new RENAME TO rule;
CREATE UNIQUE INDEX rule_same ON rule (conversation, session, agent, workspace, digest);
