package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// metaSelf is before the account's name the key under which it is kept who that
// account is.
const metaSelf = "self/"

// Identify notes who an account is at its service and reports whether that is
// somebody else than before. Then everything that the other one was told by
// numbers means nothing any more, though the chats may have the same names: where
// it was with receiving, the ids of messages that an account counts by itself
// (those of places whose Space is shared), and what was to change such a message.
// What is still to be said is said by the new one.
func (v Places) Identify(ctx context.Context, account, self string) (changed bool, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		changed = false // this may be the second try
		before, err := first(ctx, t, value[string], `SELECT value FROM meta WHERE key = ?`, metaSelf+account)
		if err != nil && chat.CodeOf(err) != chat.Missing {
			return fmt.Errorf("read who the account is: %w", err)
		}
		if before == self {
			return nil
		}
		if _, err := t.exec(ctx, putMeta, metaSelf+account, self); err != nil {
			return fmt.Errorf("note who the account is: %w", err)
		}
		if changed = before != ""; !changed {
			return nil
		}
		return forgetIDs(ctx, t, account)
	})
	return changed, err
}

// counted are the places whose message ids are an account's own.
const counted = `SELECT id FROM place WHERE account = ?1 AND space NOT IN ('', chat)`

func forgetIDs(ctx context.Context, t *tx, account string) error {
	for _, stmt := range []string{
		`DELETE FROM cursor WHERE account = ?1`,
		// Whoever was asked about an old message is asked again: the buttons are
		// another bot's.
		`UPDATE inbound SET state = 'new' WHERE account = ?1 AND state = 'asked'`,
		`UPDATE inbound SET msg = '', num = 0 WHERE account = ?1 AND place IN (` + counted + `)`,
		`UPDATE receipt SET msg = '', num = 0 WHERE account = ?1 AND outbox IN (SELECT id FROM outbox WHERE place IN (` + counted + `))`,
		`UPDATE outbox AS o SET state = 'dropped', error = 'the message is another account''s'
WHERE o.place IN (SELECT id FROM place WHERE account = ?1) AND o.op <> 'post' AND o.class <> 'final' AND ` + isOpen,
		// Nobody but the other one can find out what became of a message.
		`UPDATE outbox AS o SET since = 0 WHERE o.place IN (SELECT id FROM place WHERE account = ?1) AND ` + isOpen,
	} {
		if _, err := t.exec(ctx, stmt, account); err != nil {
			return fmt.Errorf("forget the ids of another account: %w", err)
		}
	}
	return writeAudit(ctx, t, "", "account changed", account+" is another one at its service now")
}
