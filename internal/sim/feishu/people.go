package feishu

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// cardAction is the event of a pressed button or a submitted form.
const cardAction = "card.action.trigger"

// Say is what a person sends.
type Say struct {
	App     string // that is told; every app whose bot is there would be
	Chat    string
	From    string // open_id
	Type    string // text when empty
	Text    string // of a text; mentions are written @name
	Content any    // of other types, made JSON
	ReplyTo string
	Thread  bool      // the reply is in a thread
	At      time.Time // when it was sent; zero = now
	Quiet   bool      // not pushed: as if the event were still under way
	Shared  []string  // keys of resources in Content
	Tenant  string    // another tenant's person
	Kind    string    // sender_type; user when empty
}

// Say lets a person write. It returns the ids of the message and of the event,
// the latter empty when the app is not told: a group message that does not
// mention the bot, without the scope for all messages.
func (x *crowd) Say(say Say) (message, event string) {
	s := x.s
	s.mu.Lock()
	m, content := s.write(say)
	a := s.apps[say.App]
	c := s.world.chats[say.Chat]
	told := !say.Quiet && slices.Contains(c.bots, a.id) &&
		(c.kind == P2P || a.scopes["im:message.group_msg"] || a.scopes["im:message.group_at_msg:readonly"] && mentions(m, a.bot))
	body := s.received(m, say, content)
	s.mu.Unlock()
	if !told {
		return m.ID, ""
	}
	return m.ID, s.push(say.App, "im.message.receive_v1", body).ID
}

// Deliver pushes the event of a message that was said quietly.
func (x *crowd) Deliver(app, id string) (event string) {
	s := x.s
	s.mu.Lock()
	m := s.world.messages[id]
	body := s.received(m, Say{From: m.From, Chat: m.Chat}, m.Content)
	s.mu.Unlock()
	return s.push(app, "im.message.receive_v1", body).ID
}

func (x *crowd) write(say Say) (*message, string) {
	s := x.s
	if say.Type == "" {
		say.Type = "text"
	}
	var content string
	var ats []map[string]any
	if say.Type == "text" {
		var text string
		text, ats = s.mention(say.Chat, say.Text)
		raw, _ := json.Marshal(map[string]string{"text": text})
		content = string(raw)
	} else {
		raw, _ := json.Marshal(say.Content)
		content = string(raw)
	}
	m := &message{Chat: say.Chat, From: say.From, Tenant: say.Tenant, Type: say.Type, Content: content, Parent: say.ReplyTo, Mentions: ats, Shared: say.Shared}
	if say.Thread && say.ReplyTo != "" && s.world.messages[say.ReplyTo].Thread == "" {
		m.Thread = s.thread(s.world.chats[say.Chat], say.ReplyTo)
	}
	s.store(m)
	if !say.At.IsZero() {
		m.At, m.Updated = say.At, say.At
	}
	return m, content
}

// mention replaces @name by the keys that the service uses. "@all" has no
// entry in the list of mentions.
func (x *crowd) mention(chat, text string) (string, []map[string]any) {
	s := x.s
	names := map[string]string{} // name → open_id
	for _, p := range s.world.chats[chat].people {
		names[s.person(p)] = p
	}
	for _, id := range s.world.chats[chat].bots {
		names[s.apps[id].name] = s.apps[id].bot
	}
	text = strings.ReplaceAll(text, "@all", "@_all")
	var ats []map[string]any
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !strings.Contains(text, "@"+name) {
			continue
		}
		key := fmt.Sprintf("@_user_%d", len(ats)+1)
		text = strings.ReplaceAll(text, "@"+name, key)
		ats = append(ats, map[string]any{"key": key, "name": name, "tenant_key": Tenant,
			"id": map[string]any{"open_id": names[name], "union_id": "on_" + names[name], "user_id": ""}})
	}
	return text, ats
}

func mentions(m *message, openID string) bool {
	return slices.ContainsFunc(m.Mentions, func(at map[string]any) bool {
		id, _ := at["id"].(map[string]any)
		return id["open_id"] == openID
	})
}

// received is the event of a new message.
func (x *crowd) received(m *message, say Say, content string) map[string]any {
	s := x.s
	kind := "group"
	if c := s.world.chats[m.Chat]; c.kind == P2P {
		kind = "p2p"
	}
	msg := map[string]any{"message_id": m.ID, "create_time": stamp(m.At), "update_time": stamp(m.Updated), "chat_id": m.Chat,
		"chat_type": kind, "message_type": m.Type, "content": content}
	for k, v := range map[string]string{"root_id": m.Root, "parent_id": m.Parent, "thread_id": m.Thread} {
		if v != "" {
			msg[k] = v
		}
	}
	if len(m.Mentions) > 0 {
		msg["mentions"] = m.Mentions
	}
	tenant, sender := Tenant, "user"
	if say.Tenant != "" {
		tenant = say.Tenant
	}
	if say.Kind != "" {
		sender = say.Kind
	}
	return map[string]any{
		"sender":  map[string]any{"sender_id": ids(m.From), "sender_type": sender, "tenant_key": tenant},
		"message": msg,
	}
}

func ids(open string) map[string]any {
	return map[string]any{"open_id": open, "union_id": "on_" + open, "user_id": ""}
}

// Attach makes a picture or a file that a person can share; kind is image, or
// the file's type.
func (x *crowd) Attach(kind, name string, body []byte) string {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == "image" {
		key := s.id("img_v3")
		s.world.images[key] = body
		return key
	}
	key := s.id("file_v3")
	s.world.files[key] = upload{name: name, kind: kind, body: body}
	return key
}

// Child adds a message to a merged forward.
func (x *crowd) Child(of string, kind string, content any) string {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, _ := json.Marshal(content)
	m := &message{Chat: s.world.messages[of].Chat, From: "ou_elsewhere", Type: kind, Content: string(raw), Upper: of}
	return s.store(m).ID
}

// Recall lets a person take a message back.
func (x *crowd) Recall(app, id string) string {
	s := x.s
	s.mu.Lock()
	m := s.world.messages[id]
	m.Recalled = true
	s.mu.Unlock()
	return s.push(app, "im.message.recalled_v1", map[string]any{"message_id": id, "chat_id": m.Chat, "recall_time": stamp(s.now()), "recall_type": "message_owner"}).ID
}

// Edit lets a person change a message; no event tells of it.
func (x *crowd) Edit(id, text string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.world.messages[id]
	raw, _ := json.Marshal(map[string]string{"text": text})
	m.Content, m.Updated = string(raw), s.now()
	m.Edits++
}

// React lets a person react to a message.
func (x *crowd) React(app, id, from, emoji string) string {
	s := x.s
	s.mu.Lock()
	s.world.messages[id].Reacted[s.id("re")] = reaction{emoji: emoji, by: from}
	s.mu.Unlock()
	return s.push(app, "im.message.reaction.created_v1", map[string]any{"message_id": id, "operator_type": "user", "user_id": ids(from),
		"reaction_type": map[string]any{"emoji_type": emoji}, "action_time": stamp(s.now())}).ID
}

// Happen pushes an event of any type and form.
func (x *crowd) Happen(app, kind string, event map[string]any) string {
	s := x.s
	return s.push(app, kind, event).ID
}

// Click is what a person sees after a press.
type Click struct {
	Event    string
	Answered bool // within the time
	Code     int  // what the client shows: 0 = fine, 200340 no value, 200341 no answer in time, 200671 bad status, 200672 bad answer, 200673 bad card
	Toast    string
	Kind     string // of the toast
	Replaced bool
	Took     time.Duration
	Error    string // why there was no answer, or not a good one
}

// What a client shows when no answer to a press came in time, and when it was
// none with a good status.
const (
	Unanswered = 200341
	BadStatus  = 200671
)

// Press lets a person press a button with this value on a message of the bot,
// or send a form with it. Neither need be on the card: clients can be forged.
func (x *crowd) Press(app, message, from string, value map[string]any, form map[string]any) Click {
	s := x.s
	if value == nil && s.on(RuleCallback) {
		return Click{Code: 200340}
	}
	action := map[string]any{"value": value, "tag": "button", "timezone": "Asia/Shanghai"}
	if form != nil {
		action["form_value"] = form
	}
	return x.act(app, message, from, action)
}

// act sends what a person did to a card, and waits for the answer.
func (x *crowd) act(app, message, from string, action map[string]any) Click {
	s := x.s
	s.mu.Lock()
	chat := ""
	if m := s.world.messages[message]; m != nil {
		chat = m.Chat
	}
	token := s.id("c")
	s.mu.Unlock()
	dv := s.push(app, cardAction, map[string]any{
		"operator": map[string]any{"tenant_key": Tenant, "open_id": from, "union_id": "on_" + from}, "token": token, "action": action,
		"host": "im_message", "context": map[string]any{"open_message_id": message, "open_chat_id": chat},
	})
	<-dv.done
	s.dispatch.mu.Lock()
	got := dv.Delivery
	s.dispatch.mu.Unlock()
	c := Click{Event: got.ID, Took: got.Took, Error: got.Error}
	switch {
	case got.Error == unsubscribed:
		c.Code = 200340 // what people report of a missing subscription
	case got.Code == 0:
		c.Code = Unanswered
	case got.Code != 200:
		c.Answered, c.Code = true, BadStatus
	default:
		c.Answered = true
		s.applied(&c, message, got.Data)
	}
	return c
}

// applied shows what the answer to a click says.
func (x *crowd) applied(c *Click, message string, data []byte) {
	s := x.s
	if len(data) == 0 || string(data) == "null" {
		return
	}
	var in struct {
		Toast *struct{ Type, Content string } `json:"toast"`
		Card  *struct {
			Type string         `json:"type"`
			Data map[string]any `json:"data"`
		} `json:"card"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		if s.on(RuleClick) {
			c.Code = 200672
		}
		return
	}
	if in.Toast != nil {
		c.Toast, c.Kind = in.Toast.Content, in.Toast.Type
		if !slices.Contains([]string{"", "info", "success", "error", "warning"}, in.Toast.Type) && s.on(RuleClick) {
			c.Code = 200672
		}
	}
	if in.Card == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.world.messages[message]
	if in.Card.Type != "raw" || m == nil || s.inspect(in.Card.Data, s.world.chats[m.Chat]) != nil {
		if s.on(RuleClick) {
			c.Code = 200673
		}
		return
	}
	c.Replaced = true
	if e := s.world.cards[m.Card]; e != nil {
		if e.streaming { // while it streams, a press cannot change the card
			c.Replaced = false
			return
		}
		e.root = in.Card.Data
		return
	}
	raw, _ := json.Marshal(in.Card.Data)
	m.Content = string(raw)
}
