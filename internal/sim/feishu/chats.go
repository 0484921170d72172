package feishu

import (
	"maps"
	"slices"
	"strconv"
)

func (q request) chat() (any, *refusal) {
	c := q.s.world.chats[q.args["chat"]]
	if c == nil {
		return nil, refuse(232006, "Your request contains an invalid request parameter, ext=chat_id")
	}
	if no := q.member(c); no != nil && no.code != 230018 {
		return nil, no
	}
	kind := "chat"
	if c.kind == Topic {
		kind = "thread"
	}
	return map[string]any{"name": c.name, "chat_mode": c.kind, "group_message_type": kind, "tenant_key": Tenant,
		"user_count": strconv.Itoa(len(c.people)), "bot_count": strconv.Itoa(len(c.bots))}, nil
}

func (q request) user() (any, *refusal) {
	name, ok := q.s.world.people[q.args["user"]]
	if !ok {
		return nil, refuse(41050, "no user authority error")
	}
	return map[string]any{"user": map[string]any{"open_id": q.args["user"], "name": name}}, nil
}

// emojis are the reactions that the simulator knows; the service has more.
var emojis = []string{"OK", "THUMBSUP", "DONE", "Typing", "OnIt", "HEART", "CrossMark", "CheckMark", "EYES", "THINKING", "Hourglass",
	"GLANCE", "SLEEP", "LIGHTNING", "SALUTE", "BROKENHEART", "Alarm", "Pin", "Get", "JIAYI", "ThumbsDown", "MUSCLE", "Fire", "Yes", "No"}

func (q request) react() (any, *refusal) {
	m, no := q.existing()
	if no != nil {
		return nil, no
	}
	kind, _ := q.body["reaction_type"].(map[string]any)
	emoji, _ := kind["emoji_type"].(string)
	if !slices.Contains(emojis, emoji) && q.s.on(RuleReaction) {
		return nil, refuse(231001, "The reaction type is invalid.")
	}
	reacted := q.s.id("re")
	m.Reacted[reacted] = reaction{emoji: emoji, by: q.app.bot}
	q.call.Text = emoji
	// An app that subscribed reactions hears of its own, too.
	event := map[string]any{"message_id": q.args["message"], "operator_type": "app", "app_id": q.app.id,
		"reaction_type": kind, "action_time": stamp(q.s.now())}
	s, id := q.s, q.app.id
	*q.later = append(*q.later, func() { s.push(id, "im.message.reaction.created_v1", event) })
	return map[string]any{"reaction_id": reacted, "reaction_type": kind}, nil
}

func (q request) reactions() (any, *refusal) {
	m, no := q.existing()
	if no != nil {
		return nil, no
	}
	items := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(m.Reacted)) {
		r := m.Reacted[id]
		by := map[string]any{"operator_id": r.by, "operator_type": "user"}
		for _, a := range q.s.apps {
			if r.by == a.bot {
				by = map[string]any{"operator_id": a.id, "operator_type": "app"}
			}
		}
		items = append(items, map[string]any{"reaction_id": id, "operator": by, "reaction_type": map[string]any{"emoji_type": r.emoji}})
	}
	return map[string]any{"items": items, "has_more": false, "page_token": ""}, nil
}

func (q request) unreact() (any, *refusal) {
	m, no := q.existing()
	if no != nil {
		return nil, no
	}
	r, ok := m.Reacted[q.args["reaction"]]
	if !ok || r.by != q.app.bot {
		return nil, refuse(231010, "The reaction is not found.")
	}
	delete(m.Reacted, q.args["reaction"])
	return nil, nil
}
