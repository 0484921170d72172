package router

import (
	"context"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/i18n"
)

// Presses tells what becomes of presses before they are stored. It may be asked
// from many goroutines, beside the router.
type Presses struct{ buttons buttons }

// Presses are what the access gate asks.
func (r *Router) Presses() Presses { return Presses{r.buttons} }

// Refusal is described at receive.Presses.
func (p Presses) Refusal(ctx context.Context, in chat.Inbound) (chat.Refusal, error) {
	b, d := p.buttons, p.buttons.intake.desk
	conv, err := d.conversation(ctx, in.Conversation)
	if err != nil {
		return chat.Refusal{}, err
	}
	lang := d.lang(conv, in.Sender)
	c := command.Call{In: in, Conv: conv, Lang: lang}
	var no chat.Refusal
	if what, ok := strings.CutPrefix(in.Data, "aged:"); ok {
		no, err = b.old.refusal(ctx, in, what, lang)
	} else if what, ok := strings.CutPrefix(in.Data, "edit:"); ok {
		_, err = b.changes.target(ctx, in, what)
	} else if c.Name, c.Arg, ok = b.intake.set.Click(in.Data); !ok {
		err = chat.E(chat.Invalid, "", nil)
	} else if !own(in) {
		err = chat.E(chat.Denied, "", nil)
	} else {
		no.Text, no.Spent, err = b.intake.set.Refusal(ctx, c)
	}
	switch code := chat.CodeOf(err); code {
	case chat.CodeNone:
		return no, nil
	case chat.Denied, chat.Conflict, chat.Expired:
		return chat.Refusal{Text: i18n.T(lang, "error."+string(code))}, nil
	case chat.Invalid, chat.Missing:
		return chat.Refusal{Text: i18n.T(lang, "receive.click_gone")}, nil
	default:
		return chat.Refusal{}, err
	}
}

// Refused is described at receive.Presses: the buttons that are of no use any
// more are taken off the message.
func (p Presses) Refused(ctx context.Context, in chat.Inbound, why chat.Refusal) {
	if !why.Spent {
		return
	}
	b := p.buttons
	outs := messages{b.intake.desk}.unbutton(ctx, in)
	if len(outs) == 0 {
		return
	}
	if err := b.end.inbox.Settle(ctx, []int64{in.ID}, chat.InboundRefused, chat.CodeNone, outs); err != nil {
		b.intake.desk.cfg.Log.WarnContext(ctx, "buttons not taken away", "inbound", in.ID, "err", err)
		return
	}
	b.end.voice.Wake(in.Place)
}
