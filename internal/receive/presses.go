package receive

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// Presses knows what the buttons of commands may do.
type Presses interface {
	// Refusal returns what the press in would come to, if that is nothing: its
	// author may not do that, or the button is of no use any more. It changes
	// nothing. After an error nothing is known.
	Refusal(ctx context.Context, in chat.Inbound) (chat.Refusal, error)
	// Refused is told of a press that was stored as refused. What it sees to is
	// cosmetic.
	Refused(ctx context.Context, in chat.Inbound, why chat.Refusal)
}

// refusal finds out whether a press is refused, before it is stored: such a row
// is nobody's to carry out, and what the service shows at once is the refusal.
// What changes a moment later is said by whoever carries the press out.
func (g *Gate) refusal(ctx context.Context, in chat.Inbound) (no chat.Refusal, err error) {
	if g.Presses == nil || in.Kind != chat.KindClick || g.Clicks.Mine(in.Data) {
		return no, nil
	}
	if in.Place, in.Conversation, err = g.Places.Ensure(ctx, in.Place); err != nil {
		return no, fmt.Errorf("find the place of a button: %w", err)
	}
	if no, err = g.Presses.Refusal(ctx, in); err != nil {
		g.cfg.Log.WarnContext(ctx, "not known what a button may do", "account", in.Place.Account, "err", err)
		return chat.Refusal{}, nil
	}
	return no, nil
}

// refused is what is shown for a press that is not carried out.
func (g *Gate) refused(ctx context.Context, in chat.Inbound, why chat.Refusal) chat.Ack {
	g.Presses.Refused(ctx, in, why)
	return chat.Ack{Alert: true, Toast: why.Text}
}
