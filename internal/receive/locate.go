package receive

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
)

// locate fills in what the service leaves out of an event about an earlier
// message and the ledger knows: where that is, and of a withdrawal also whose.
// Only its author, or somebody who may do it for them, can withdraw a message.
// What nobody knows stays without a chat, and means nothing.
func (g *Gate) locate(ctx context.Context, m chat.Message) (chat.Message, error) {
	switch {
	case m.Kind == chat.KindRecall && m.Sender.ID == "", m.Kind == chat.KindGesture && m.Place.Chat == "":
	default:
		return m, nil
	}
	p, by, err := g.Places.Author(ctx, m.Place.Account, m.Ref.ID)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return m, nil
	case err != nil:
		return m, fmt.Errorf("find the message that an event is about: %w", err)
	}
	m.Place, m.Ref.Chat = p, p.Chat
	if m.Sender.ID == "" {
		m.Sender = by
	}
	return m, nil
}

// maxOwn bounds what is quoted of a message of the bot's own, in characters.
const maxOwn = 1500

// answers sees whether m replies to a message of the bot's own, where the
// adapter cannot know it: such a message is for the bot without naming it, and
// what it quotes need not be fetched.
func (g *Gate) answers(ctx context.Context, m chat.Message) (chat.Message, error) {
	if m.Kind != chat.KindText || m.Reply.ID == "" {
		return m, nil
	}
	i := slices.IndexFunc(m.Files, func(f chat.FileRef) bool { return f.Kind == chat.MediaQuote && f.Source.Kind == chat.SourceReply })
	if i < 0 {
		return m, nil // it knows
	}
	text, err := g.Rooms.Words(ctx, m.Place.Account, m.Place.Chat, m.Reply.ID)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return m, nil
	case err != nil:
		return m, fmt.Errorf("find the message that is replied to: %w", err)
	}
	m.Addressed, m.Mentioned = true, false
	m.Files = slices.Delete(slices.Clone(m.Files), i, i+1)
	if m.Quote = chat.Clip(text, maxOwn); m.Quote != "" {
		m.Source = chat.Source{Kind: chat.SourceOwn}
	}
	return m, nil
}

// handed sees whether m is a file without words in a thread in which the bot
// works: where such a message cannot name it, it is for it all the same.
func (g *Gate) handed(ctx context.Context, m chat.Message) (chat.Message, error) {
	if m.Addressed || !m.Strewn || m.Text != "" || m.Place.Thread == "" {
		return m, nil
	}
	busy, err := g.Rooms.Busy(ctx, m.Place)
	if err != nil {
		return m, fmt.Errorf("look for work in a thread: %w", err)
	}
	m.Addressed = busy
	return m, nil
}
