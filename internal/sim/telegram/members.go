package telegram

import "time"

// RuleCount says that everybody counts as a member of a chat, the bot too.
const RuleCount Rule = "count"

// usual is how many there are in a group about which nothing was said.
const usual = 5

// memberCount is getChatMemberCount.
func (r request) memberCount() (any, *refusal) {
	s := r.s
	c := s.chats[r.p.num("chat_id")]
	switch {
	case c == nil && s.on(RuleChat):
		return nil, bad("chat not found")
	case c != nil && c.migrated != 0 && s.on(RuleMigrated):
		return nil, &refusal{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrate: c.migrated}
	case c != nil && c.kicked && s.on(RuleBlocked):
		return nil, &refusal{code: 403, text: "Forbidden: bot was kicked from the " + string(c.kind) + " chat"}
	case c == nil:
		return 0, nil
	}
	n := usual
	switch {
	case c.kind == Private:
		n = 2
	case c.members != 0:
		n = c.members
	}
	if !s.on(RuleCount) {
		n--
	}
	return n, nil
}

// Members says how many are in a group, the bot included. Nobody is told.
func (p people) Members(chat int64, n int) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chat].members = n
}

// Join lets a person into a group, and tells the bot.
func (p people) Join(token string, chat, who int64) { p.comes(token, chat, who, 1, "new_chat_members") }

// Leave lets a person leave a group, and tells the bot.
func (p people) Leave(token string, chat, who int64) {
	p.comes(token, chat, who, -1, "left_chat_member")
}

func (p people) comes(token string, chat, who int64, by int, what string) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	b, c := s.bots[token], s.chats[chat]
	if c.members == 0 {
		c.members = usual
	}
	c.members += by
	someone := person(who, "Person "+itoa(int(who)))
	var about any = someone
	if by > 0 {
		about = []any{someone}
	}
	m := s.store(b, c, forums{s}.news(someone, what, about))
	m.At = time.Now()
	s.push(b, "message", messageJSON(s, b, m))
}

// memberRules are the rules of this file.
func memberRules() []Rule { return []Rule{RuleCount} }
