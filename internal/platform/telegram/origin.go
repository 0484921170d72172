package telegram

import (
	"strconv"
	"strings"

	"cligate/internal/chat"
)

// Ids that stand for no person: the anonymous administrator of a group, the
// author of posts made as a channel, and Telegram itself (posts forwarded from
// a linked channel).
const (
	anonymousAdmin = 1087968824
	channelAuthor  = 136817688
	telegramItself = 777000
)

// spaceBot is the id space of private chats and basic groups: all of a bot's
// together are numbered by one counter. Each supergroup has its own.
const spaceBot = "bot"

// firstSupergroup is the highest id of a supergroup or channel.
const firstSupergroup = -1000000000000

// place says where a message belongs. Only topics count as threads: in a group
// without topics a chain of replies has a thread id too, which means nothing,
// and General has none.
func (d decoder) place(m *message) chat.Place {
	c := m.Chat
	p := chat.Place{
		Platform: Name,
		Account:  d.account,
		Chat:     strconv.FormatInt(c.ID, 10),
		Direct:   c.Type == "private",
		Space:    spaceBot,
		Title:    c.Title,
	}
	if c.Type == "supergroup" || c.ID <= firstSupergroup {
		p.Space = p.Chat
	}
	if p.Title == "" {
		p.Title = strings.TrimSpace(c.First + " " + c.Last)
	}
	if m.Thread != 0 && (m.InTopic || p.Direct && d.me.Topics) {
		p.Thread = strconv.FormatInt(m.Thread, 10)
		p.Title, p.Nameless = d.topicName(p, m)
	}
	return p
}

// topicName is what is known from m about the name of its topic: every message
// in a topic that answers none "replies" to the one that made the topic.
func (d decoder) topicName(p chat.Place, m *message) (name string, nameless bool) {
	made := m.Topic
	if made == nil && m.Reply != nil {
		made = m.Reply.Topic
	}
	if made == nil {
		made = d.made.of(p)
	}
	if made == nil {
		return "", false
	}
	return made.Name, made.Implicit
}

func ref(chatID, id int64) chat.Ref {
	return chat.Ref{ID: strconv.FormatInt(id, 10), Chat: strconv.FormatInt(chatID, 10), Num: id}
}

// sender is who wrote m. Whoever writes as a chat is not a person.
func sender(m *message) chat.Person {
	p := person(m.From)
	if m.SenderChat != nil || m.AutoForward {
		p.Bot = true
		p.Hidden = m.SenderChat != nil && m.Chat != nil && m.SenderChat.ID == m.Chat.ID
		if p.ID == "" && m.SenderChat != nil {
			p.ID, p.Name = strconv.FormatInt(m.SenderChat.ID, 10), m.SenderChat.Title
		}
	}
	return p
}

func person(u *user) chat.Person {
	if u == nil || u.ID <= 0 {
		return chat.Person{Bot: true}
	}
	p := chat.Person{
		ID:   strconv.FormatInt(u.ID, 10),
		Name: strings.TrimSpace(u.First + " " + u.Last),
		Lang: u.Language,
		Bot:  u.IsBot,
	}
	switch u.ID {
	case anonymousAdmin, channelAuthor, telegramItself:
		p.Bot = true
	}
	return p
}

func (m *message) forwarded() bool {
	return m.Forward != nil || m.OldForward > 0
}
