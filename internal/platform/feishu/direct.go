package feishu

import (
	"strings"

	"cligate/internal/chat"
)

// personID is how the ids of people begin.
const personID = "ou_"

// meet tells of a direct chat that is new to us whose it is: what was meant for
// that person before, under their own id, belongs there.
func (d decoder) meet(m chat.Message) []chat.Message {
	id := m.Sender.ID
	if !m.Place.Direct || id == "" || m.Sender.Bot || m.Place.Chat == id {
		return nil
	}
	switch m.Kind {
	case chat.KindText, chat.KindClick, chat.KindJoined:
	default:
		return nil
	}
	if known, _ := d.mind.directs.get(id); known == m.Place.Chat {
		return nil
	}
	from := m.Place
	from.Chat = id
	return []chat.Message{{Kind: chat.KindMoved, Place: from, Moved: &chat.Place{Chat: m.Place.Chat}, SentAt: m.SentAt}}
}

// met notes whose direct chat it is, after that was stored.
func (d decoder) met(t taken) {
	for range t.before {
		d.mind.directs.put(t.msg.Sender.ID, t.msg.Place.Chat)
	}
}

// entered decodes that somebody opened the direct chat, which the service tells
// every time: it is the same event for ever.
func (d decoder) entered(m chat.Message, p placed) (chat.Message, bool) {
	m.Kind, m.Sender, m.Place.Direct = chat.KindJoined, d.person(p.Operator.Open), true
	m.Key = "p2p/" + p.Chat
	d.mind.chats.put(p.Chat, chatKind{direct: true})
	return m, p.Chat != "" && p.Operator.Open != ""
}

// menu decodes an item of the bot's menu, whose key is the name of a command.
// The service does not tell the chat. Until that is known it is named by the
// person, to whom can be sent like to a chat.
func (d decoder) menu(m chat.Message, p placed) (chat.Message, bool) {
	who := p.Who.ID.Open
	m.Kind, m.Sender, m.Place.Chat, m.Place.Direct = chat.KindText, d.person(who), who, true
	if at, known := d.mind.directs.get(who); known {
		m.Place.Chat = at
	}
	if m.Sender.Name == "" {
		m.Sender.Name = chat.PlainName(p.Who.Name)
	}
	m.Text = "/" + strings.TrimPrefix(strings.TrimSpace(p.Key), "/")
	return m, who != "" && m.Text != "/"
}

// receiver says what kind of id a chat of ours is.
func receiver(chatID string) string {
	if strings.HasPrefix(chatID, personID) {
		return "open_id"
	}
	return "chat_id"
}
