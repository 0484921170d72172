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

// Set is described at router.Conversations.
func (v Sessions) Set(ctx context.Context, c chat.Conversation) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE conversation SET agent = ?, workspace = ?, model = ?, mode = ?, effort = ?, lang = ?, verbosity = ?, rich = ? WHERE id = ?`,
			c.Agent, c.Workspace, c.Model, c.Mode, c.Effort, c.Lang, c.Verbosity, c.Rich, c.ID)
		if err != nil {
			return fmt.Errorf("set conversation %d: %w", c.ID, err)
		}
		if n == 0 {
			return missing("conversation", c.ID)
		}
		return nil
	})
}
