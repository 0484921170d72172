package feishu

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// hour is how long a uuid stands for its message.
const (
	uuidLife  = time.Hour
	patchLife = 14 * 24 * time.Hour
)

func (q mailCall) create() (any, *refusal) {
	if kind := q.str("receive_id_type"); kind != "chat_id" && kind != "open_id" {
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid receive_id_type")
	}
	id := q.str("receive_id")
	if q.str("receive_id_type") == "open_id" {
		id = q.s.directWith(q.app.id, id)
	}
	return q.send(id, &message{})
}

func (q mailCall) reply() (any, *refusal) {
	to, no := q.existing()
	if no != nil {
		return nil, no
	}
	m := &message{Parent: to.ID}
	if q.flag("reply_in_thread") && to.Thread == "" {
		c := q.s.world.chats[to.Chat]
		if c.kind == P2P && q.s.on(RuleThread) {
			return nil, refuse(230071, "The chat does not support reply in thread.")
		}
		m.Thread = q.s.thread(c, to.ID)
	}
	return q.send(to.Chat, m)
}

// direct is the direct chat of a person with an app's bot.
func (s *Server) direct(app, person string) string {
	for id, c := range s.world.chats {
		if c.kind == P2P && slices.Contains(c.people, person) && slices.Contains(c.bots, app) {
			return id
		}
	}
	return ""
}

// send posts what the request carries into a chat.
func (q mailCall) send(chat string, m *message) (any, *refusal) {
	s := q.s
	q.call.Chat = chat
	c := s.world.chats[chat]
	if c == nil {
		if s.on(RuleReceiver) {
			return nil, refuse(230001, "Your request contains an invalid request parameter, ext=invalid receive_id")
		}
		c = &chatState{id: chat, kind: P2P, bots: []string{q.app.id}, threads: map[string]string{}}
		s.world.chats[chat] = c
	}
	if no := q.member(c); no != nil {
		return nil, no
	}
	uuid := q.str("uuid")
	if utf8.RuneCountInString(uuid) > maxUUID && s.on(RuleUUID) {
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=uuid is too long")
	}
	what := "message/" + chat
	if known, ok := q.app.sent[uuid]; ok && uuid != "" && s.on(RuleUUID) && s.now().Sub(known.at) < uuidLife && known.what == what {
		q.call.Message = known.message
		return s.messageJSON(s.world.messages[known.message]), nil
	}
	if no := s.admitChat(s.on(RuleRate), chat); no != nil {
		return nil, no
	}
	m.Chat, m.From, m.App, m.Type, m.Content = chat, q.app.bot, q.app.id, q.str("msg_type"), q.str("content")
	if no := q.content(m, c); no != nil {
		return nil, no
	}
	s.store(m)
	if m.Card != "" {
		s.world.cards[m.Card].message = m.ID
	}
	if uuid != "" {
		q.app.sent[uuid] = idempotent{at: s.now(), what: what, message: m.ID}
	}
	q.call.Message, q.call.Text = m.ID, s.see(m).Text
	return s.messageJSON(m), nil
}

// member reports why the bot may not speak in a chat.
func (q request) member(c *chatState) *refusal {
	switch {
	case !q.s.on(RuleMember):
		return nil
	case c.gone:
		return refuse(232009, "Your request specifies a chat which has already been dissolved.")
	case !slices.Contains(c.bots, q.app.id):
		return refuse(230002, "Bot/User can NOT be out of the chat.")
	case c.muted:
		return refuse(230018, "These operations are NOT allowed at current group settings.")
	}
	return nil
}

// content checks a message's content against its type.
func (q mailCall) content(m *message, c *chatState) *refusal {
	s := q.s
	var body map[string]any
	if err := json.Unmarshal([]byte(m.Content), &body); err != nil {
		if s.on(RuleContent) {
			return refuse(230001, "Your request contains an invalid request parameter, ext=content is not a string in json format")
		}
		return nil
	}
	limit := maxCard
	if m.Type == "text" {
		limit = maxText
	}
	if len(q.raw) > limit && s.on(RuleSize) {
		return refuse(230025, "The length of the message content reaches its limit.")
	}
	invalid := func(why string) *refusal {
		if !s.on(RuleContent) {
			return nil
		}
		return refuse(230001, "Your request contains an invalid request parameter, ext=%s", why)
	}
	text := func(name string) string { v, _ := body[name].(string); return v }
	switch m.Type {
	case "text":
		if text("text") == "" {
			return invalid("text is empty")
		}
		return s.checkAt(text("text"), c, invalid)
	case "post":
		return s.checkPost(body, c, invalid)
	case "image":
		if _, ok := s.world.images[text("image_key")]; !ok {
			return invalid("invalid image_key")
		}
	case "file", "audio", "media":
		up, ok := s.world.files[text("file_key")]
		if !ok {
			return invalid("invalid file_key")
		}
		if want := map[string]string{"audio": "opus", "media": "mp4"}[m.Type]; want != "" && up.kind != want && s.on(RuleContent) {
			return refuse(230055, "The type of file upload does not match the type of message being sent.")
		}
	case "interactive":
		return q.cardContent(m, body, c)
	default:
		return invalid("invalid msg_type")
	}
	return nil
}

// checkPost checks a post: {"zh_cn":{"title":…,"content":[[node…]…]}}.
func (s *Server) checkPost(body map[string]any, c *chatState, invalid func(string) *refusal) *refusal {
	if len(body) == 0 {
		return invalid("post content is empty")
	}
	for lang, v := range body {
		one, ok := v.(map[string]any)
		lines, ok2 := one["content"].([]any)
		if !ok || !ok2 || len(lines) == 0 {
			return invalid("invalid post of " + lang)
		}
		for _, l := range lines {
			nodes, ok := l.([]any)
			if !ok {
				return invalid("post content is not a list of lists")
			}
			for _, n := range nodes {
				node, _ := n.(map[string]any)
				if no := s.checkNode(node, c, invalid); no != nil {
					return no
				}
			}
		}
	}
	return nil
}

func (s *Server) checkNode(node map[string]any, c *chatState, invalid func(string) *refusal) *refusal {
	str := func(k string) string { v, _ := node[k].(string); return v }
	switch str("tag") {
	case "text", "md":
		return s.checkAt(str("text"), c, invalid)
	case "code_block", "hr", "emotion":
	case "a":
		if s.on(RuleLinks) && !safeLink(str("href")) {
			return invalid("invalid href")
		}
	case "at":
		if s.on(RuleMention) && !slices.Contains(c.people, str("user_id")) {
			return invalid("invalid user_id in at")
		}
	case "img":
		if _, ok := s.world.images[str("image_key")]; !ok {
			return invalid("invalid image_key")
		}
	default:
		return invalid("unknown tag " + str("tag"))
	}
	return nil
}

// existing is the message that a call is about.
func (q request) existing() (*message, *refusal) {
	m := q.s.world.messages[q.args["message"]]
	switch {
	case m == nil:
		return nil, refuse(231003, "The message is not found.")
	case m.Recalled && q.s.on(RuleExists):
		return nil, refuse(230011, "The message was withdrawn.")
	}
	q.call.Message, q.call.Chat = m.ID, m.Chat
	return m, nil
}

// mine is an own message.
func (q request) mine() (*message, *refusal) {
	m, no := q.existing()
	if no == nil && m.App != q.app.id && q.s.on(RuleOwn) {
		return nil, refuse(230071, "The operator is not the sender of the message.")
	}
	return m, no
}

func (q mailCall) update() (any, *refusal) {
	m, no := q.mine()
	if no != nil {
		return nil, no
	}
	s := q.s
	switch {
	case m.Type != "text" && m.Type != "post" && s.on(RuleKind):
		return nil, refuse(230054, "This operation is not supported for this message type.")
	case m.Edits >= maxEdits && s.on(RuleEdits):
		return nil, refuse(230072, "The message has reached the number of times it can be edited.")
	}
	edited := *m
	edited.Type, edited.Content = q.str("msg_type"), q.str("content")
	if no := q.content(&edited, s.world.chats[m.Chat]); no != nil {
		return nil, no
	}
	m.Type, m.Content, m.Updated = edited.Type, edited.Content, s.now()
	m.Edits++
	q.call.Text = s.see(m).Text
	return s.messageJSON(m), nil
}

func (q mailCall) patch() (any, *refusal) {
	m, no := q.mine()
	if no != nil {
		return nil, no
	}
	s := q.s
	switch {
	case m.Type != "interactive" && s.on(RuleKind):
		return nil, refuse(230001, "Your request contains an invalid request parameter, ext=This message is NOT a card.")
	case s.now().Sub(m.At) > patchLife && s.on(RuleAge):
		return nil, refuse(230031, "The message is sent too long ago to be updated.")
	}
	if no := s.admitPatch(s.on(RuleRate), m.ID); no != nil {
		return nil, no
	}
	if m.Card != "" {
		return nil, nil // accepted, and changes nothing: the entity has to be updated
	}
	edited := *m
	edited.Content = q.str("content")
	if no := q.content(&edited, s.world.chats[m.Chat]); no != nil {
		return nil, no
	}
	m.Content, m.Updated = edited.Content, s.now()
	m.Edits++
	q.call.Text = s.see(m).Text
	return nil, nil
}

func (q mailCall) recall() (any, *refusal) {
	m, no := q.mine()
	if no != nil {
		return nil, no
	}
	m.Recalled = true
	return nil, nil
}

// messageJSON is a message as the API shows it.
func (s *Server) messageJSON(m *message) map[string]any {
	kind := "user"
	if m.App != "" {
		kind = "app"
	}
	id := m.From
	if m.App != "" {
		id = m.App
	}
	out := map[string]any{
		"message_id": m.ID, "chat_id": m.Chat, "msg_type": m.Type, "create_time": stamp(m.At), "update_time": stamp(m.Updated),
		"deleted": m.Recalled, "updated": m.Edits > 0,
		"sender": map[string]any{"id": id, "id_type": map[string]string{"user": "open_id", "app": "app_id"}[kind], "sender_type": kind, "tenant_key": cmp.Or(m.Tenant, Tenant)},
		"body":   map[string]any{"content": m.Content},
	}
	for k, v := range map[string]string{"root_id": m.Root, "parent_id": m.Parent, "thread_id": m.Thread, "upper_message_id": m.Upper} {
		if v != "" {
			out[k] = v
		}
	}
	if len(m.Mentions) > 0 {
		out["mentions"] = mentioned(m.Mentions)
	}
	return out
}

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// get answers with the message; of a merged forward with everything in it too.
func (q mailCall) get() (any, *refusal) {
	m := q.s.world.messages[q.args["message"]]
	if m == nil {
		return nil, refuse(231003, "The message is not found.")
	}
	if no := q.member(q.s.world.chats[m.Chat]); no != nil && no.code == 230002 {
		return nil, no
	}
	items := []map[string]any{q.s.messageJSON(m)}
	in := map[string]bool{m.ID: true}
	for _, id := range q.s.world.order { // a bundle within a bundle comes behind it
		if c := q.s.world.messages[id]; in[c.Upper] {
			in[c.ID] = true
			items = append(items, q.s.messageJSON(c))
		}
	}
	return map[string]any{"items": items}, nil
}
