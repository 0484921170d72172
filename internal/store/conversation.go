package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const conversationCols = `id, session, agent, workspace, model, mode, effort, lang, verbosity, rich, previous FROM conversation`

func scanConversation(r row) (chat.Conversation, error) {
	var c chat.Conversation
	err := r.Scan(&c.ID, &c.Session, &c.Agent, &c.Workspace, &c.Model, &c.Mode, &c.Effort, &c.Lang, &c.Verbosity, &c.Rich, &c.Previous)
	return c, err
}

func conversationByID(ctx context.Context, t *tx, id int64) (chat.Conversation, error) {
	c, err := first(ctx, t, scanConversation, `SELECT `+conversationCols+` WHERE id = ?`, id)
	if err != nil {
		return c, fmt.Errorf("conversation %d: %w", id, err)
	}
	return c, nil
}

// ConversationByID returns a conversation; chat.Missing.
func (v Sessions) ConversationByID(ctx context.Context, id int64) (c chat.Conversation, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		c, err = first(ctx, h, scanConversation, `SELECT `+conversationCols+` WHERE id = ?`, id)
		return err
	})
	return c, err
}

// Change is described at router.Conversations.
func (v Sessions) Change(ctx context.Context, before, after chat.Conversation) error {
	set, args := "session = session", []any{}
	for _, f := range []struct {
		column  string
		was, is any
	}{
		{"agent", before.Agent, after.Agent},
		{"workspace", before.Workspace, after.Workspace},
		{"model", before.Model, after.Model},
		{"mode", before.Mode, after.Mode},
		{"effort", before.Effort, after.Effort},
		{"lang", before.Lang, after.Lang},
		{"verbosity", before.Verbosity, after.Verbosity},
		{"rich", before.Rich, after.Rich},
	} {
		if f.was != f.is {
			set, args = set+", "+f.column+" = ?", append(args, f.is)
		}
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE conversation SET `+set+` WHERE id = ?`, append(args, after.ID)...)
		if err != nil {
			return fmt.Errorf("change conversation %d: %w", after.ID, err)
		}
		if n == 0 {
			return missing("conversation", after.ID)
		}
		return nil
	})
}
