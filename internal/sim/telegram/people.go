package telegram

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// Say is what a person sends.
type Say struct {
	Chat    int64
	From    int64
	Thread  int64
	ReplyTo int64
	Text    string
	Album   string         // media group id
	Photo   bool           // a photo with Text as its caption
	File    *File          // a file with Text as its caption
	Date    time.Time      // zero = now
	Extra   map[string]any // raw fields of the message, put over everything
	Kind    string         // update kind, default message
}

// Say lets a person write and returns the message's id. In groups with privacy
// mode the bot sees only what it would see.
func (s *Server) Say(token string, say Say) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, c := s.bots[token], s.chats[say.Chat]
	if say.From == 0 {
		say.From = say.Chat
	}
	s.settle(b, c, &say)
	m := s.store(b, c, &Message{From: say.From, Text: say.Text, Thread: say.Thread, ReplyTo: say.ReplyTo})
	if !say.Date.IsZero() {
		m.At = say.Date
	}
	if say.File != nil {
		s.attach(m, say.File)
	}
	j := messageJSON(s, b, m)
	if es := autoEntities(say.Text); len(es) > 0 {
		j["entities"] = es
		if say.File != nil {
			j["caption_entities"] = es
			delete(j, "entities")
		}
	}
	if say.Photo {
		delete(j, "text")
		j["photo"] = []map[string]any{{"file_id": fmt.Sprintf("photo-%d", m.ID), "file_unique_id": fmt.Sprintf("p%d", m.ID), "width": 10, "height": 10}}
		if say.Text != "" {
			j["caption"] = say.Text
			j["caption_entities"] = j["entities"]
		}
		delete(j, "entities")
	}
	if say.Album != "" {
		j["media_group_id"] = say.Album
	}
	for k, v := range say.Extra {
		j[k] = v
	}
	kind := say.Kind
	if kind == "" {
		kind = "message"
	}
	if !s.hears(b, c, m) {
		return m.ID
	}
	s.push(b, kind, j)
	return m.ID
}

// visibleToBot is the privacy mode: commands, and replies to the bot.
func visibleToBot(b *bot, c *chatState, m *Message) bool {
	if strings.HasPrefix(m.Text, "/") {
		return true
	}
	if m.ReplyTo != 0 {
		if to := c.find(b, m.ReplyTo); to != nil && to.FromBot {
			return true
		}
	}
	return strings.Contains(strings.ToLower(m.Text), "@"+strings.ToLower(b.username))
}

// EditText lets a person change an own message.
func (s *Server) EditText(token string, chat, id int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, c := s.bots[token], s.chats[chat]
	m := c.find(b, id)
	m.Text = text
	m.History = append(m.History, text)
	j := messageJSON(s, b, m)
	j["edit_date"] = time.Now().Unix()
	s.push(b, "edited_message", j)
}

// Click lets a person press a button with this data on a message of the bot;
// the data need not be on the message: clients can be forged. It returns the
// query's id.
func (s *Server) Click(token string, chat, message, from int64, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[token]
	b.nextQ++
	id := fmt.Sprintf("q%d", b.nextQ)
	b.queries[id] = &query{at: time.Now()}
	j := map[string]any{"id": id, "from": person(from, fmt.Sprintf("Person %d", from)), "chat_instance": "1", "data": data}
	if c := s.chats[chat]; c != nil {
		if m := c.find(b, message); m != nil {
			j["message"] = messageJSON(s, b, m)
		} else {
			j["message"] = map[string]any{"message_id": message, "date": 0, "chat": chatJSON(s, chat)}
		}
	}
	s.push(b, "callback_query", j)
	return id
}

// Push hands the bot an update of any kind and form.
func (d *mailroom) Push(token, kind string, body map[string]any) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(s.bots[token], kind, body)
}

// Again delivers the newest update a second time, as the service may.
func (d *mailroom) Again(token string) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[token]
	if n := len(b.updates); n > 0 {
		b.updates = append(b.updates, b.updates[n-1])
		s.changed.Broadcast()
	}
}

// ResetIDs lets update ids restart at a lower number, as they do after a long
// silence.
func (d *mailroom) ResetIDs(token string, next int64) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bots[token].nextID = next
}

// Pending returns how many updates wait to be confirmed.
func (d *mailroom) Pending(token string) int {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bots[token].updates)
}

// Answered reports whether a callback query was answered.
func (d *mailroom) Answered(token, id string) bool {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.bots[token].queries[id]
	return q != nil && q.answered
}

// Toast returns what whoever pressed a button is shown at once, and whether it
// stays until they dismiss it; answered is false until the bot has answered.
func (d *mailroom) Toast(token, id string) (text string, alert, answered bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.bots[token].queries[id]
	if q == nil {
		return "", false, false
	}
	return q.toast, q.alert, q.answered
}

func (s *Server) push(b *bot, kind string, j map[string]any) {
	at := time.Now()
	if date, ok := j["date"].(int64); ok && date > 0 && kind != "callback_query" {
		at = time.Unix(date, 0)
	}
	b.updates = append(b.updates, update{id: b.nextID, kind: kind, body: j, at: at})
	b.nextID++
	s.changed.Broadcast()
}

// autoEntities finds what the service marks by itself: commands and mentions.
func autoEntities(text string) []entity {
	var es []entity
	at := 0
	for _, word := range strings.SplitAfter(text, " ") {
		w := strings.TrimRight(word, " \n,.!?")
		n := len(utf16.Encode([]rune(w)))
		switch {
		case len(w) > 1 && w[0] == '/':
			es = append(es, entity{Type: "bot_command", Offset: at, Length: n})
		case len(w) > 1 && w[0] == '@':
			es = append(es, entity{Type: "mention", Offset: at, Length: n})
		}
		at += len(utf16.Encode([]rune(word)))
	}
	return es
}
