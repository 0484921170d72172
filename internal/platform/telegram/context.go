package telegram

import (
	"strings"

	"cligate/internal/chat"
)

// maxContext bounds the text of an earlier message that goes with a reply to
// it, in characters. A piece that somebody chose to quote is at most 1024.
const maxContext = 1500

// context fills in what the message answers: its number, its words or the
// piece of them that is quoted, and what is attached to it.
func (d decoder) context(m *message, out *chat.Message) {
	d.chosen(m, out)
	r := m.Reply
	// In a topic every message "replies" to the message that made the topic.
	if r == nil || r.Topic != nil || r.ID == 0 {
		return
	}
	id := m.Chat.ID
	if r.Chat != nil {
		id = r.Chat.ID
	}
	out.Reply = ref(id, r.ID)
	switch {
	case !d.mine(r):
		out.Source = chat.Source{Kind: chat.SourceReply, Name: sender(r).Name}
	case out.Quote == "":
		out.Source = chat.Source{Kind: chat.SourceOwn}
	default:
		out.Source = chat.Source{Kind: chat.SourceOwnPart}
	}
	if out.Quote == "" {
		out.Quote = r.gist()
	}
	if out.Quote == "" {
		out.Source = chat.Source{}
	}
	if !d.mine(r) && out.Kind == chat.KindText {
		out.Files = append(out.Files, r.files(r.ID)...)
	}
}

// chosen fills in the piece that somebody chose to quote, also of a message of
// another chat.
func (d decoder) chosen(m *message, out *chat.Message) {
	if m.Quote != nil {
		out.Quote = strings.TrimSpace(m.Quote.Text)
	}
	o := m.Outside
	if o == nil {
		return
	}
	if out.Quote == "" {
		out.Quote = o.gist()
	}
	if out.Quote != "" {
		out.Source = chat.Source{Kind: chat.SourceReply, Name: o.Origin.name()}
	}
	if out.Kind == chat.KindText {
		out.Files = append(out.Files, o.files(m.ID)...)
	}
}

// mine reports whether the bot wrote m.
func (d decoder) mine(m *message) bool { return m.From != nil && m.From.ID == d.me.ID }

// gist is the words of a message, bounded.
func (m *content) gist() string {
	text := strings.TrimSpace(m.Text + m.Caption) // one of them is empty
	if text == "" {
		text = m.described()
	}
	return chat.Clip(text, maxContext)
}

// name is who a forwarded message is from, as far as the service says.
func (f *forward) name() string {
	switch {
	case f == nil:
		return ""
	case f.User != nil:
		return person(f.User).Name
	case f.Sender != nil:
		return f.Sender.Title
	case f.Chat != nil:
		return f.Chat.Title
	}
	return f.Name
}
