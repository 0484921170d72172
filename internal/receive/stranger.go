package receive

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// stranger notes somebody without a role. In a direct chat they are told their
// own id, now and then; in a group nothing is said. Nothing they sent is kept.
func (g *Gate) stranger(ctx context.Context, m chat.Message) error {
	if !m.Place.Direct && !m.Addressed {
		return nil // talk among people who may not even know of the bot
	}
	tell, err := g.Access.Stranger(ctx, m, time.Now(), g.cfg.Quiet)
	if err != nil {
		return fmt.Errorf("note stranger: %w", err)
	}
	if !tell || !m.Place.Direct || m.Kind != chat.KindText {
		return nil
	}
	g.say(ctx, m, "stranger", i18n.T(m.Sender.Lang, "receive.stranger", "id", m.Sender.ID))
	return nil
}

// pair uses up a pairing code. The code is neither stored nor logged. In a
// group it does nothing: others have read it.
func (g *Gate) pair(ctx context.Context, m chat.Message, has chat.Role) error {
	if !m.Place.Direct {
		return nil
	}
	if has == chat.RoleOwner { // a code could give nothing more; it stays good for somebody else
		g.say(ctx, m, "paired", i18n.T(m.Sender.Lang, "receive.paired_already"))
		return nil
	}
	role, err := g.Access.Redeem(ctx, m.Place.Account, m.Sender, m.Pairing, time.Now())
	var key string
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		g.cfg.Log.InfoContext(ctx, "person paired", "account", m.Place.Account, "person", m.Sender.ID, "role", role)
		g.say(ctx, m, "paired", i18n.T(m.Sender.Lang, "receive.paired", "role", i18n.T(m.Sender.Lang, "receive.role_"+string(role))))
		if g.Paired != nil {
			g.Paired(m.Place.Account)
		}
		return nil
	case chat.Denied:
		key = "pairing_wrong"
		if has != chat.RoleNone { // delivered again, or tried again
			key = "paired_already"
		}
	case chat.Expired:
		key = "pairing_expired"
	case chat.Full:
		key = "pairing_locked"
	default:
		return fmt.Errorf("redeem pairing code: %w", err)
	}
	g.say(ctx, m, "paired", i18n.T(m.Sender.Lang, "receive."+key))
	return nil
}

// say tells the sender something that no stored message is behind. What goes
// wrong is logged: the event itself is dealt with.
func (g *Gate) say(ctx context.Context, m chat.Message, what, text string) {
	place, _, err := g.Places.Ensure(ctx, m.Place)
	if err == nil {
		err = g.Voice.Say(ctx, place, what+":"+m.Place.Account+":"+m.Key, chat.Reply{Kind: chat.ReplyNotice, Markdown: text})
	}
	if err != nil {
		g.cfg.Log.WarnContext(ctx, "notice not stored", "account", m.Place.Account, "what", what, "err", err)
	}
}
