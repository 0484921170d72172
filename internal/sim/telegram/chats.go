package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// ChatType is a kind of chat.
type ChatType string

// Chat types.
const (
	Private    ChatType = "private"
	Group      ChatType = "group"
	Supergroup ChatType = "supergroup"
)

// chatState is one chat as the server knows it. Private chats are per bot and
// person; the person's id is the chat's.
type chatState struct {
	id       int64
	kind     ChatType
	title    string
	forum    bool
	topics   map[int64]*topic
	counter  int64                         // message ids, of supergroups only
	messages map[string]map[int64]*Message // by bot token for private chats and groups; "" for supergroups
	blocked  bool
	kicked   bool
	migrated int64
	started  bool
	members  int // 0 = the usual number

	restricted bool     // only some reactions are allowed
	reactions  []string // these
}

// Message is a message with its history, for the oracle.
type Message struct {
	ID       int64
	Chat     int64
	Thread   int64
	FromBot  bool
	From     int64
	Text     string
	Entities []entity
	Rich     *Rich    // nil for a classic message
	Found    []entity // what the service made of words by itself
	Buttons  [][]Button
	ReplyTo  int64
	File     string // name of a document
	FileBody []byte
	Photo    bool // the file is shown as a photo
	Silent   bool
	Deleted  bool
	At       time.Time
	History  []string // every text it had, the present one last
	Reaction string   // the bot's reaction

	extra     map[string]any      // raw fields of a person's message
	captioned bool                // Text is the caption of what extra holds
	signs     map[string][]string // people's reactions
}

// Button is an inline button.
type Button struct {
	Text     string `json:"text"`
	Data     string `json:"callback_data,omitempty"`
	URL      string `json:"url,omitempty"`
	CopyText *struct {
		Text string `json:"text"`
	} `json:"copy_text,omitempty"`
	Style string `json:"style,omitempty"`
}

// AddChat makes a chat. A private chat's id is the person's id; groups are
// negative, supergroups start with -100.
func (s *Server) AddChat(id int64, kind ChatType, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[id] = &chatState{id: id, kind: kind, title: title, topics: map[int64]*topic{}, counter: 10,
		messages: map[string]map[int64]*Message{}, started: true}
}

// AddTopic makes a supergroup a forum with this topic.
func (s *Server) AddTopic(chat, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chat]
	c.forum = true
	name := "Topic " + itoa(int(id))
	c.topics[id] = &topic{name: name}
	made := s.news(person(1, "Admin"), "forum_topic_created", map[string]any{"name": name})
	made.ID, made.Chat, made.Thread, made.At = id, chat, id, time.Now()
	if c.messages[""] == nil {
		c.messages[""] = map[int64]*Message{}
	}
	c.messages[""][id] = made
}

// SetTopic closes or deletes a topic.
func (s *Server) SetTopic(chat, id int64, closed, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chat].topics[id] = &topic{closed: closed, deleted: deleted, told: deleted}
}

// Block makes a person block the bot, or unblock it; the bot is told.
func (s *Server) Block(token string, chat int64, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chat].blocked = blocked
	status := "member"
	if blocked {
		status = "kicked"
	}
	b := s.bots[token]
	s.push(b, "my_chat_member", map[string]any{
		"chat": chatJSON(s, chat), "from": person(chat, "Person"), "date": time.Now().Unix(),
		"old_chat_member": map[string]any{"status": "member", "user": b.me()},
		"new_chat_member": map[string]any{"status": status, "user": b.me()},
	})
}

// Migrate turns a group into a supergroup with a new id, which both say.
func (s *Server) Migrate(token string, from, to int64) { s.Upgrade(token, from, to, SaidOld|SaidNew) }

// store gives m an id and keeps it. The lock is held.
func (s *Server) store(b *bot, c *chatState, m *Message) *Message {
	key := b.token
	if c.kind == Supergroup {
		key = ""
		for c.counter++; c.messages[key][c.counter] != nil; c.counter++ {
		}
		m.ID = c.counter
	} else {
		b.counter++
		m.ID = b.counter
	}
	if c.messages[key] == nil {
		c.messages[key] = map[int64]*Message{}
	}
	m.Chat, m.At = c.id, time.Now()
	s.find(m)
	m.History = append(m.History, m.Text)
	c.messages[key][m.ID] = m
	s.changed.Broadcast()
	return m
}

// find returns a message of a chat as the bot sees it; nil when there is none.
func (c *chatState) find(b *bot, id int64) *Message {
	key := b.token
	if c.kind == Supergroup {
		key = ""
	}
	m := c.messages[key][id]
	if m == nil || m.Deleted {
		return nil
	}
	return m
}

// Messages returns the messages of a chat in order of their ids, deleted ones
// included.
func (s *Server) Messages(token string, chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chat]
	if c == nil {
		return nil
	}
	key := token
	if c.kind == Supergroup {
		key = ""
	}
	var out []Message
	for _, m := range c.messages[key] {
		cp := *m
		cp.History = slices.Clone(m.History)
		out = append(out, cp)
	}
	slices.SortFunc(out, func(a, b Message) int { return int(a.ID - b.ID) })
	return out
}

// Visible returns the bot's messages of a chat that are not deleted.
func (s *Server) Visible(token string, chat int64) []Message {
	var out []Message
	for _, m := range s.Messages(token, chat) {
		if m.FromBot && !m.Deleted {
			out = append(out, m)
		}
	}
	return out
}

func person(id int64, name string) map[string]any {
	return map[string]any{"id": id, "is_bot": false, "first_name": name, "language_code": "en"}
}

func chatJSON(s *Server, id int64) map[string]any {
	c := s.chats[id]
	if c == nil {
		return map[string]any{"id": id, "type": "private"}
	}
	out := map[string]any{"id": id, "type": string(c.kind)}
	if c.kind == Private {
		out["first_name"] = c.title
	} else {
		out["title"] = c.title
	}
	if c.forum {
		out["is_forum"] = true
	}
	return out
}

func messageJSON(s *Server, b *bot, m *Message) map[string]any {
	out := map[string]any{"message_id": m.ID, "date": m.At.Unix(), "chat": chatJSON(s, m.Chat)}
	if m.FromBot {
		out["from"] = b.me()
	} else {
		out["from"] = person(m.From, fmt.Sprintf("Person %d", m.From))
	}
	if m.File != "" && m.Photo {
		out["photo"] = []any{map[string]any{"file_id": fmt.Sprintf("file-%d", m.ID), "file_unique_id": fmt.Sprintf("u%d", m.ID),
			"width": 90, "height": 90, "file_size": len(m.FileBody)}}
		if m.Text != "" {
			out["caption"] = m.Text
		}
	} else if m.File != "" {
		out["document"] = map[string]any{"file_id": fmt.Sprintf("file-%d", m.ID), "file_unique_id": fmt.Sprintf("u%d", m.ID),
			"file_name": m.File, "file_size": len(m.FileBody)}
		if m.Text != "" {
			out["caption"] = m.Text
		}
	} else if m.Rich != nil {
		out["rich_message"] = json.RawMessage(m.Rich.Raw)
	} else {
		out["text"] = m.Text
	}
	if len(m.Entities) > 0 && m.Rich == nil {
		out["entities"] = m.Entities
	}
	threadJSON(out, s, b, m)
	if len(m.Buttons) > 0 {
		out["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	if c := s.chats[m.Chat]; c != nil && m.ReplyTo != 0 {
		if to := c.find(b, m.ReplyTo); to != nil {
			cp := *to
			cp.ReplyTo = 0 // one level only, as the service does
			out["reply_to_message"] = messageJSON(s, b, &cp)
		}
	}
	decorate(out, m)
	return out
}
