package telegram

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// Check asks Telegram who the bot is and whether anything keeps messages from
// arriving (getMe, getWebhookInfo), without receiving any. It returns one
// sentence for the operator; an error is one too.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	me, err := a.wire.me(ctx)
	if err != nil {
		return "", chat.E(chat.Unavailable, diagnose(err).says(a.link.lang), err)
	}
	var hook struct {
		URL     string `json:"url"`
		Pending int    `json:"pending_update_count"`
	}
	if err := a.wire.decode(ctx, request{method: "getWebhookInfo"}, &hook); err != nil {
		return "", chat.E(chat.Unavailable, diagnose(err).says(a.link.lang), err)
	}
	if hook.URL != "" {
		return "", chat.E(chat.Conflict, troubleWebhook.says(a.link.lang), nil)
	}
	groups := "in groups it sees commands, mentions and replies only (BotFather's privacy mode)"
	if me.ReadAll {
		groups = "in groups it sees everything"
	}
	return fmt.Sprintf("@%s is reachable; %s; %d messages wait", me.Username, groups, hook.Pending), nil
}
