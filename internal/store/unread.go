package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"cligate/internal/chat"
)

// Bounds of what is kept of events that were not understood.
const (
	unreadRows = 200      // of each account; the oldest ones go
	unreadSize = 64 << 10 // bytes of one; the rest is cut off
)

// Keep is described at receive.Inbox.
func (v Inbox) Keep(ctx context.Context, account string, us []chat.Unread) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		for _, u := range us {
			sum := sha256.Sum256(u.Raw)
			_, err := t.exec(ctx, `INSERT INTO unread (account, hash, raw, why, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				account, hex.EncodeToString(sum[:]), append([]byte{}, u.Raw[:min(len(u.Raw), unreadSize)]...), u.Why, micros(t.now))
			if err != nil {
				return fmt.Errorf("keep an event: %w", err)
			}
		}
		_, err := t.exec(ctx, `DELETE FROM unread WHERE account = ?1 AND id NOT IN
(SELECT id FROM unread WHERE account = ?1 ORDER BY id DESC LIMIT ?2)`, account, unreadRows)
		return err
	})
}
