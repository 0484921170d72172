package telegram

import (
	"math"
	"path/filepath"
	"strings"
	"time"
)

// dispatch carries out one call. The lock is held.
func (s *Server) dispatch(b *bot, method string, p params, call *Call) (any, *refusal) {
	switch method {
	case "getMe":
		return s.me(b), nil
	case "getWebhookInfo":
		url := ""
		if b.webhook {
			url = "https://example.org/hook"
		}
		return map[string]any{"url": url, "has_custom_certificate": false, "pending_update_count": len(b.updates)}, nil
	case "deleteWebhook":
		b.webhook = false
		return true, nil
	case "sendMessage":
		return s.sendMessage(b, p, call)
	case "sendDocument":
		return s.sendDocument(b, p, call)
	case "editMessageText":
		return s.edit(b, p, call, "text", "entities", maxText)
	case "editMessageCaption":
		return s.edit(b, p, call, "caption", "caption_entities", maxCaption)
	case "editMessageReplyMarkup":
		return s.edit(b, p, call, "", "", 0)
	case "deleteMessage":
		return s.deleteMessage(b, p, call)
	case "answerCallbackQuery":
		return s.answerQuery(b, p)
	case "sendChatAction":
		if _, no := s.target(b, p, false); no != nil {
			return nil, no
		}
		return true, nil
	case "setMessageReaction":
		return s.react(b, p)
	case "setMyCommands":
		return s.setCommands(b, p)
	case "getMyCommands":
		return b.menu(p.str("language_code")), nil
	case "getChat":
		c, no := s.target(b, p, false)
		if no != nil {
			return nil, no
		}
		return s.chatJSON(c.id), nil
	}
	if !s.on(RuleMethod) {
		return true, nil
	}
	return nil, &refusal{code: 404, text: "Not Found: method not found"}
}

// target finds the chat of a call and checks that the bot may write there.
func (s *Server) target(b *bot, p params, thread bool) (*chatState, *refusal) {
	c := s.chats[p.num("chat_id")]
	switch {
	case c == nil && s.on(RuleChat):
		return nil, bad("chat not found")
	case c == nil:
		c = &chatState{id: p.num("chat_id"), kind: Private, messages: map[string]map[int64]*Message{}, topics: map[int64]*topic{}}
		s.chats[c.id] = c
	case c.migrated != 0 && s.on(RuleMigrated):
		return nil, &refusal{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrate: c.migrated}
	case c.blocked && s.on(RuleBlocked):
		return nil, &refusal{code: 403, text: "Forbidden: bot was blocked by the user"}
	case c.kicked && s.on(RuleBlocked):
		return nil, &refusal{code: 403, text: "Forbidden: bot was kicked from the " + string(c.kind) + " chat"}
	}
	if id := p.num("message_thread_id"); thread && id != 0 && c.kind == Supergroup && c.forum && s.on(RuleThread) {
		t := c.topics[id]
		switch {
		case t == nil || t.deleted || id == 1:
			return nil, bad("message thread not found")
		case t.closed:
			return nil, bad("TOPIC_CLOSED")
		}
	}
	return c, nil
}

func (s *Server) rate(c *chatState, method string) *refusal {
	wait, ok := s.rates.admit(c.id, c.kind != Private, method)
	if ok || !s.on(RuleRate) {
		return nil
	}
	n := int(math.Ceil(wait.Seconds()))
	return &refusal{code: 429, text: "Too Many Requests: retry after " + itoa(n), after: n}
}

func (s *Server) buttons(p params) ([][]Button, *refusal) {
	var m struct {
		Rows [][]Button `json:"inline_keyboard"`
	}
	if !p.object("reply_markup", &m) {
		return nil, bad("can't parse reply keyboard markup JSON object")
	}
	if !s.on(RuleButtons) {
		return m.Rows, nil
	}
	for _, row := range m.Rows {
		for _, x := range row {
			switch {
			case strings.TrimSpace(x.Text) == "":
				return nil, bad("can't parse inline keyboard button: Field \"text\" must be non-empty")
			case x.URL == "" && x.CopyText == nil && x.Data == "":
				return nil, bad("text buttons are unallowed in the inline keyboard")
			case len(x.Data) > 64:
				return nil, bad("BUTTON_DATA_INVALID")
			}
		}
	}
	return m.Rows, nil
}

func (s *Server) replyTo(b *bot, c *chatState, p params) (int64, *refusal) {
	var r struct {
		ID      int64 `json:"message_id"`
		Without bool  `json:"allow_sending_without_reply"`
	}
	if !p.object("reply_parameters", &r) {
		return 0, bad("can't parse reply parameters")
	}
	if id := p.num("reply_to_message_id"); id != 0 {
		r.ID, r.Without = id, p.flag("allow_sending_without_reply")
	}
	if r.ID != 0 && s.find(b, c, r.ID) == nil {
		if !r.Without && s.on(RuleReply) {
			return 0, bad("message to be replied not found")
		}
		return 0, nil
	}
	return r.ID, nil
}

func (s *Server) sendMessage(b *bot, p params, call *Call) (any, *refusal) {
	c, no := s.target(b, p, true)
	if no != nil {
		return nil, no
	}
	t, no := s.readBody(p, "text", "entities", maxText)
	if no != nil {
		return nil, no
	}
	if p.str("text") == "" && s.on(RuleEmpty) {
		return nil, bad("message text is empty")
	}
	if t.text == "" && s.on(RuleEmpty) {
		return nil, bad("text must be non-empty")
	}
	rows, no := s.buttons(p)
	if no != nil {
		return nil, no
	}
	reply, no := s.replyTo(b, c, p)
	if no != nil {
		return nil, no
	}
	if no := s.rate(c, "sendMessage"); no != nil {
		return nil, no
	}
	m := s.store(b, c, &Message{FromBot: true, From: b.id, Text: t.text, Entities: t.entities, Buttons: rows, ReplyTo: reply,
		Thread: topicOf(c, p), Silent: p.flag("disable_notification")})
	call.Message, call.Text = m.ID, m.Text
	return s.messageJSON(b, m), nil
}

func topicOf(c *chatState, p params) int64 {
	if c.forum {
		return p.num("message_thread_id")
	}
	return 0 // ignored without a word
}

func (s *Server) sendDocument(b *bot, p params, call *Call) (any, *refusal) {
	c, no := s.target(b, p, true)
	if no != nil {
		return nil, no
	}
	f, ok := p.files["document"]
	switch {
	case !ok:
		return nil, bad("there is no document in the request")
	case len(f.body) > 50<<20 && s.on(RuleFile):
		return nil, &refusal{code: 413, text: "Request Entity Too Large"}
	case len(f.body) == 0 && s.on(RuleFile):
		return nil, bad("file must be non-empty")
	case strings.ContainsAny(f.name, `/\`) && s.on(RuleFileName):
		return nil, bad("a path in a file name: " + filepath.Base(f.name))
	}
	t, no := s.readBody(p, "caption", "caption_entities", maxCaption)
	if no != nil {
		return nil, no
	}
	rows, no := s.buttons(p)
	if no != nil {
		return nil, no
	}
	reply, no := s.replyTo(b, c, p)
	if no != nil {
		return nil, no
	}
	if no := s.rate(c, "sendDocument"); no != nil {
		return nil, no
	}
	m := s.store(b, c, &Message{FromBot: true, From: b.id, Text: t.text, Entities: t.entities, Buttons: rows, ReplyTo: reply,
		File: f.name, FileBody: f.body, Thread: topicOf(c, p), Silent: p.flag("disable_notification")})
	call.Message, call.Text = m.ID, f.name
	return s.messageJSON(b, m), nil
}

// edit changes text, caption or buttons of one of the bot's own messages.
func (s *Server) edit(b *bot, p params, call *Call, field, entField string, limit int) (any, *refusal) {
	c, no := s.target(b, p, false)
	if no != nil {
		return nil, no
	}
	m := s.find(b, c, p.num("message_id"))
	switch {
	case m == nil && s.on(RuleExists):
		return nil, bad("message to edit not found")
	case m == nil:
		return true, nil
	case !m.FromBot && s.on(RuleEditable):
		return nil, bad("message can't be edited")
	case field == "text" && m.File != "" && s.on(RuleTextEdit):
		return nil, bad("there is no text in the message to edit")
	}
	t := body{m.Text, m.Entities}
	if field != "" {
		if t, no = s.readBody(p, field, entField, limit); no != nil {
			return nil, no
		}
		if t.text == "" && field == "text" && s.on(RuleEmpty) {
			return nil, bad("message text is empty")
		}
	}
	rows, no := s.buttons(p)
	if no != nil {
		return nil, no
	}
	if sameBody(t, body{m.Text, m.Entities}) && sameButtons(rows, m.Buttons) && s.on(RuleSame) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	if no := s.rate(c, "edit"); no != nil {
		return nil, no
	}
	m.Text, m.Entities, m.Buttons = t.text, t.entities, rows
	m.History = append(m.History, t.text)
	call.Message, call.Text = m.ID, m.Text
	s.changed.Broadcast()
	return s.messageJSON(b, m), nil
}

func sameBody(a, b body) bool {
	if a.text != b.text || len(a.entities) != len(b.entities) {
		return false
	}
	for i := range a.entities {
		if a.entities[i] != b.entities[i] {
			return false
		}
	}
	return true
}

func sameButtons(a, b [][]Button) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for j := range a[i] {
			if a[i][j].Text != b[i][j].Text || a[i][j].Data != b[i][j].Data {
				return false
			}
		}
	}
	return true
}

func (s *Server) deleteMessage(b *bot, p params, call *Call) (any, *refusal) {
	c, no := s.target(b, p, false)
	if no != nil {
		return nil, no
	}
	m := s.find(b, c, p.num("message_id"))
	if m == nil {
		if s.on(RuleExists) {
			return nil, bad("message to delete not found")
		}
		return true, nil
	}
	if !m.FromBot && c.kind != Private && s.on(RuleEditable) {
		return nil, bad("message can't be deleted")
	}
	m.Deleted = true
	call.Message = m.ID
	return true, nil
}

const queryLife = 150 * time.Second

func (s *Server) answerQuery(b *bot, p params) (any, *refusal) {
	q := b.queries[p.str("callback_query_id")]
	if s.on(RuleQuery) && (q == nil || q.answered || time.Since(q.at) > queryLife) {
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	}
	if len([]rune(p.str("text"))) > 200 && s.on(RuleQuery) {
		return nil, bad("MESSAGE_TOO_LONG")
	}
	if q != nil {
		q.answered = true
	}
	return true, nil
}

const allowedReactions = " ❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡 "

func (s *Server) react(b *bot, p params) (any, *refusal) {
	c, no := s.target(b, p, false)
	if no != nil {
		return nil, no
	}
	var rs []struct{ Type, Emoji string }
	if !p.object("reaction", &rs) {
		return nil, bad("can't parse reaction")
	}
	m := s.find(b, c, p.num("message_id"))
	if m == nil {
		if s.on(RuleExists) {
			return nil, bad("message to react not found")
		}
		return true, nil
	}
	m.Reaction = ""
	if len(rs) > 1 && s.on(RuleReaction) {
		return nil, bad("REACTIONS_TOO_MANY")
	}
	for _, r := range rs {
		if s.on(RuleReaction) && !strings.Contains(allowedReactions, " "+r.Emoji+" ") {
			return nil, bad("REACTION_INVALID")
		}
		m.Reaction = r.Emoji
	}
	return true, nil
}

func (s *Server) setCommands(b *bot, p params) (any, *refusal) {
	var cs []struct{ Command, Description string }
	if !p.object("commands", &cs) {
		return nil, bad("can't parse commands")
	}
	if s.on(RuleCommands) {
		if len(cs) > 100 {
			return nil, bad("BOT_COMMANDS_TOO_MUCH")
		}
		for _, c := range cs {
			if n := len(c.Command); n < 1 || n > 32 || strings.Trim(c.Command, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				return nil, bad("BOT_COMMAND_INVALID")
			}
			if n := len([]rune(c.Description)); n < 1 || n > 256 {
				return nil, bad("BOT_COMMAND_DESCRIPTION_INVALID")
			}
		}
	}
	kept := []any{}
	for _, c := range cs {
		kept = append(kept, map[string]any{"command": c.Command, "description": c.Description})
	}
	b.commands[p.str("language_code")] = kept
	return true, nil
}

// menu is the command menu of a language, as it was set.
func (b *bot) menu(lang string) []any {
	if m, ok := b.commands[lang]; ok {
		return m
	}
	return []any{}
}
