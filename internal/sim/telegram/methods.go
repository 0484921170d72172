package telegram

import (
	"math"
	"strings"
	"time"
)

// request is one call of a method. The server's lock is held while it is
// carried out.
type request struct {
	s    *Server
	b    *bot
	p    params
	call *Call // what the journal will say of it
}

// dispatch carries out the call.
func (r request) dispatch(method string) (any, *refusal) {
	if result, no, ok := r.ofBot(method); ok {
		return result, no
	}
	if result, no, ok := ofTopic(r, method); ok {
		return result, no
	}
	switch method {
	case "sendMessage":
		return r.sendMessage()
	case "sendRichMessage":
		return sendRich(r)
	case "getFile":
		return getFile(r)
	case "sendDocument":
		return r.sendFile("document", "sendDocument")
	case "sendPhoto":
		return r.sendFile("photo", "sendPhoto")
	case "editMessageText":
		return r.edit("text", "entities", maxText)
	case "editMessageCaption":
		return r.edit("caption", "caption_entities", maxCaption)
	case "editMessageReplyMarkup":
		return r.edit("", "", 0)
	case "deleteMessage":
		return r.deleteMessage()
	case "answerCallbackQuery":
		return r.answerQuery()
	case "sendChatAction":
		if _, no := r.target(false); no != nil {
			return nil, no
		}
		return true, nil
	case "setMessageReaction":
		return r.react()
	case "getChat":
		c, no := r.target(false)
		if no != nil {
			return nil, no
		}
		return chatJSON(r.s, c.id), nil
	}
	if !r.s.on(RuleMethod) {
		return true, nil
	}
	return nil, &refusal{code: 404, text: "Not Found: method not found"}
}

// target finds the chat of a call and checks that the bot may write there.
func (r request) target(thread bool) (*chatState, *refusal) {
	s, p := r.s, r.p
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
	if thread {
		if no := admits(r, c); no != nil {
			return nil, no
		}
	}
	return c, nil
}

func (r request) rate(c *chatState, method string) *refusal {
	s := r.s
	wait, ok := s.admit(c.id, c.kind != Private, method, r.call.At)
	if ok || !s.on(RuleRate) {
		return nil
	}
	n := int(math.Ceil(wait.Seconds()))
	return &refusal{code: 429, text: "Too Many Requests: retry after " + itoa(n), after: n}
}

func (r request) buttons() ([][]Button, *refusal) {
	s, p := r.s, r.p
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
			if no := r.copyButton(x); no != nil {
				return nil, no
			}
		}
	}
	return m.Rows, nil
}

func (r request) replyTo(c *chatState) (int64, *refusal) {
	s, b, p := r.s, r.b, r.p
	var to struct {
		ID      int64 `json:"message_id"`
		Without bool  `json:"allow_sending_without_reply"`
	}
	if !p.object("reply_parameters", &to) {
		return 0, bad("can't parse reply parameters")
	}
	if id := p.num("reply_to_message_id"); id != 0 {
		to.ID, to.Without = id, p.flag("allow_sending_without_reply")
	}
	if to.ID != 0 && c.find(b, to.ID) == nil {
		if !to.Without && s.on(RuleReply) {
			return 0, bad("message to be replied not found")
		}
		return 0, nil
	}
	return to.ID, nil
}

func (r request) sendMessage() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c, no := r.target(true)
	if no != nil {
		return nil, no
	}
	t, no := r.readBody("text", "entities", maxText)
	if no != nil {
		return nil, no
	}
	if p.str("text") == "" && s.on(RuleEmpty) {
		return nil, bad("message text is empty")
	}
	if t.text == "" && s.on(RuleEmpty) {
		return nil, bad("text must be non-empty")
	}
	rows, no := r.buttons()
	if no != nil {
		return nil, no
	}
	reply, no := r.replyTo(c)
	if no != nil {
		return nil, no
	}
	if no := r.rate(c, "sendMessage"); no != nil {
		return nil, no
	}
	m := s.store(b, c, &Message{FromBot: true, From: b.id, Text: t.text, Entities: t.entities, Buttons: rows, ReplyTo: reply,
		Thread: topicOf(r, c), Silent: p.flag("disable_notification")})
	r.call.Message, r.call.Text = m.ID, m.Text
	return messageJSON(s, b, m), nil
}

// edit changes text, caption or buttons of one of the bot's own messages.
func (r request) edit(field, entField string, limit int) (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c, no := r.target(false)
	if no != nil {
		return nil, no
	}
	m := c.find(b, p.num("message_id"))
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
	t, rich := body{m.Text, m.Entities}, (*Rich)(nil)
	switch {
	case field == "": // the buttons only
		rich = m.Rich
	case field == "text" && p.str("rich_message") != "" && !s.noRich:
		if t, rich, no = readRich(r); no != nil {
			return nil, no
		}
	default:
		if t, no = r.readBody(field, entField, limit); no != nil {
			return nil, no
		}
		if t.text == "" && field == "text" && s.on(RuleEmpty) {
			return nil, bad("message text is empty")
		}
	}
	rows, no := r.buttons()
	if no != nil {
		return nil, no
	}
	if sameBody(t, body{m.Text, m.Entities}) && sameRich(rich, m.Rich) && sameButtons(rows, m.Buttons) && s.on(RuleSame) {
		return nil, bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	if no := r.rate(c, "edit"); no != nil {
		return nil, no
	}
	m.Text, m.Entities, m.Rich, m.Buttons = t.text, t.entities, rich, rows
	s.find(m)
	m.History = append(m.History, t.text)
	r.call.Message, r.call.Text = m.ID, m.Text
	s.changed.Broadcast()
	return messageJSON(s, b, m), nil
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

func (r request) deleteMessage() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c, no := r.target(false)
	if no != nil {
		return nil, no
	}
	m := c.find(b, p.num("message_id"))
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
	r.call.Message = m.ID
	return true, nil
}

const queryLife = 150 * time.Second

func (r request) answerQuery() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	q := b.queries[p.str("callback_query_id")]
	if s.on(RuleQuery) && (q == nil || q.answered || time.Since(q.at) > queryLife) {
		return nil, bad("query is too old and response timeout expired or query ID is invalid")
	}
	if len([]rune(p.str("text"))) > 200 && s.on(RuleQuery) {
		return nil, bad("MESSAGE_TOO_LONG")
	}
	if q != nil {
		q.answered, q.toast, q.alert = true, p.str("text"), p.flag("show_alert")
	}
	return true, nil
}

const allowedReactions = " ❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡 "

func (r request) react() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c, no := r.target(false)
	if no != nil {
		return nil, no
	}
	var rs []struct{ Type, Emoji string }
	if !p.object("reaction", &rs) {
		return nil, bad("can't parse reaction")
	}
	m := c.find(b, p.num("message_id"))
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
	for _, one := range rs {
		if !r.allowed(c, one.Emoji) {
			return nil, bad("REACTION_INVALID")
		}
		m.Reaction = one.Emoji
	}
	return true, nil
}
