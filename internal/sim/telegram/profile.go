package telegram

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// profile is what a bot is besides its queue: what BotFather and the bot itself
// have set.
type profile struct {
	flags       map[string]any // over the answer to getMe
	description string
	short       string
	commands    map[string][]any // by scope and language
	admin       map[int64]map[string]any
}

// profiles is what a server lets tests do to its bots.
type profiles struct{ s *Server }

// SetFlags puts fields over a bot's answer to getMe.
func (d *profiles) SetFlags(token string, flags map[string]any) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bots[token].profile.flags = flags
}

// Describe sets what people see before they press Start.
func (d *profiles) Describe(token, description, short string) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bots[token].profile.description, s.bots[token].profile.short = description, short
}

// Promote makes a bot an administrator of a group with these rights; nil makes
// it a plain member again.
func (d *profiles) Promote(token string, chat int64, rights map[string]any) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.bots[token].profile
	if rights == nil {
		delete(p.admin, chat)
		return
	}
	p.admin[chat] = rights
}

// Skew makes the clock of the server's answers go wrong by d.
func (d *profiles) Skew(by time.Duration) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = by
}

// Menu returns the command names of a scope ("default", "chat 11" …) and
// language, as they were set; nil = never or deleted.
func (d *profiles) Menu(token, scope, lang string) []string {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	cs, ok := s.bots[token].profile.commands[scope+"/"+lang]
	if !ok {
		return nil
	}
	out := []string{}
	for _, c := range cs {
		if m, ok := c.(map[string]any); ok {
			name, _ := m["command"].(string)
			out = append(out, name)
		}
	}
	return out
}

func newProfile() *profile {
	return &profile{commands: map[string][]any{}, admin: map[int64]map[string]any{}}
}

func (b *bot) me() map[string]any {
	out := map[string]any{"id": b.id, "is_bot": true, "first_name": b.username, "username": b.username,
		"can_join_groups": true, "can_read_all_group_messages": !b.privacy, "supports_inline_queries": false}
	maps.Copy(out, b.profile.flags)
	return out
}

// ofBot carries out the methods about the bot itself; false = another method.
func (r request) ofBot(method string) (any, *refusal, bool) {
	b := r.b
	var result any
	var no *refusal
	switch method {
	case "getMe":
		result = b.me()
	case "getWebhookInfo":
		result, no = r.webhookInfo()
	case "setWebhook":
		result, no = r.setWebhook()
	case "deleteWebhook":
		result, no = r.deleteWebhook()
	case "getMyName":
		result = map[string]any{"name": b.username}
	case "getMyDescription":
		result = map[string]any{"description": b.profile.description}
	case "getMyShortDescription":
		result = map[string]any{"short_description": b.profile.short}
	case "setMyCommands":
		result, no = r.setCommands()
	case "deleteMyCommands":
		result, no = r.deleteCommands()
	case "getMyCommands":
		result, no = r.getCommands()
	case "getChatMember":
		result, no = r.chatMember()
	case "getChatMemberCount":
		result, no = r.memberCount()
	default:
		return nil, nil, false
	}
	return result, no, true
}

var langShape = regexp.MustCompile(`^([a-z]{2})?$`)

// scope returns the key under which the commands of a call are kept.
func (r request) scope() (string, *refusal) {
	var sc struct {
		Type string      `json:"type"`
		Chat json.Number `json:"chat_id"`
		User int64       `json:"user_id"`
	}
	if !r.p.object("scope", &sc) {
		return "", bad("can't parse BotCommandScope: expected an Object")
	}
	lang := r.p.str("language_code")
	if r.s.on(RuleCommands) && !langShape.MatchString(lang) {
		return "", bad("invalid language code specified")
	}
	key := sc.Type
	switch sc.Type {
	case "", "default":
		key = "default"
	case "all_private_chats", "all_group_chats", "all_chat_administrators":
	case "chat", "chat_administrators", "chat_member":
		id, _ := sc.Chat.Int64()
		switch c := r.s.chats[id]; {
		case !r.s.on(RuleScope):
		case c == nil:
			return "", bad("chat not found")
		case sc.Type != "chat" && c.kind == Private:
			return "", bad("can't change commands in private chats")
		case c.kicked:
			return "", &refusal{code: 403, text: "Forbidden: bot was kicked from the " + string(c.kind) + " chat"}
		}
		key += " " + strconv.FormatInt(id, 10)
		if sc.User != 0 {
			key += " " + strconv.FormatInt(sc.User, 10)
		}
	default:
		if r.s.on(RuleScope) {
			return "", bad("can't parse BotCommandScope: Unsupported type specified")
		}
	}
	return key + "/" + lang, nil
}

func (r request) setCommands() (any, *refusal) {
	s, p := r.s, r.p
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
	key, no := r.scope()
	if no != nil {
		return nil, no
	}
	kept := []any{}
	for _, c := range cs {
		kept = append(kept, map[string]any{"command": c.Command, "description": c.Description})
	}
	r.b.profile.commands[key] = kept
	return true, nil
}

func (r request) deleteCommands() (any, *refusal) {
	key, no := r.scope()
	if no != nil {
		return nil, no
	}
	delete(r.b.profile.commands, key)
	return true, nil
}

func (r request) getCommands() (any, *refusal) {
	key, no := r.scope()
	if no != nil {
		return nil, no
	}
	if m, ok := r.b.profile.commands[key]; ok {
		return m, nil
	}
	return []any{}, nil
}

// chatMember tells about the bot itself; of others it knows that they are there.
func (r request) chatMember() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c := s.chats[p.num("chat_id")]
	switch {
	case c == nil && s.on(RuleChat):
		return nil, bad("chat not found")
	case c != nil && c.migrated != 0 && s.on(RuleMigrated):
		return nil, &refusal{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrate: c.migrated}
	case c != nil && c.kicked && s.on(RuleBlocked):
		return nil, &refusal{code: 403, text: "Forbidden: bot was kicked from the " + string(c.kind) + " chat"}
	case p.num("user_id") == 0:
		return nil, bad("invalid user_id specified")
	case p.num("user_id") != b.id:
		return map[string]any{"status": "member", "user": person(p.num("user_id"), "Person")}, nil
	}
	out := map[string]any{"status": "member", "user": b.me()}
	if rights := b.profile.admin[p.num("chat_id")]; rights != nil {
		out["status"] = "administrator"
		maps.Copy(out, rights)
	}
	return out, nil
}

// Kick removes the bot from a group, or lets it in again, and tells it.
func (d *profiles) Kick(token string, chat int64, kicked bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[token]
	s.chats[chat].kicked = kicked
	was, is := "member", "kicked"
	if !kicked {
		was, is = is, was
	}
	s.push(b, "my_chat_member", map[string]any{
		"chat": chatJSON(s, chat), "from": person(1, "Admin"), "date": time.Now().Unix(),
		"old_chat_member": map[string]any{"status": was, "user": b.me()},
		"new_chat_member": map[string]any{"status": is, "user": b.me()},
	})
}

// Scopes lists the scopes and languages for which commands are set.
func (d *profiles) Scopes(token string) []string {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.bots[token].profile.commands))
}
