package feishu

import (
	"maps"
	"slices"
)

// Events are what an app can subscribe to, and the callback of pressed buttons.
func Events() []string {
	return []string{"im.message.receive_v1", "im.message.recalled_v1", "im.message.reaction.created_v1", "im.chat.member.bot.added_v1",
		"im.chat.member.bot.deleted_v1", "im.chat.access_event.bot_p2p_chat_entered_v1", "im.chat.disbanded_v1", "application.bot.menu_v6"}
}

// setup is what a developer sets in the console beside scopes. A change of it is
// in force once a version with it is published.
type setup struct {
	botless   bool
	disabled  bool
	online    string          // the published version; empty = none
	waiting   string          // a version that waits for the administrator
	events    map[string]bool // subscribed
	callbacks map[string]bool
	way       string // how events come: websocket, webhook
	silent    bool   // the service does not say what is subscribed
}

func newSetup() setup {
	s := setup{online: "oav_1", events: map[string]bool{}, callbacks: map[string]bool{cardAction: true}, way: "websocket"}
	for _, e := range Events() {
		s.events[e] = true
	}
	return s
}

// Setup is what a test changes in the console of an app.
type Setup struct {
	Botless     bool     // the feature Bot is not added
	Disabled    bool     // switched off by the administrator
	Unpublished bool     // no version is published
	Waiting     bool     // a version waits for approval
	Without     []string // events and callbacks that are not subscribed
	Way         string   // websocket, webhook; empty = websocket
	Silent      bool     // the service does not say what is subscribed
}

// Configure sets what a developer sets in the console.
func (x *console) Configure(app string, c Setup) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	n := newSetup()
	n.botless, n.disabled, n.silent = c.Botless, c.Disabled, c.Silent
	if c.Unpublished {
		n.online = ""
	}
	if c.Waiting {
		n.waiting = "oav_2"
	}
	if c.Way != "" {
		n.way = c.Way
	}
	for _, e := range c.Without {
		delete(n.events, e)
		delete(n.callbacks, e)
	}
	s.apps[app].setup = n
}

// told reports whether the service pushes events of a kind to the app at all.
func (a *app) told(s *Server, kind string) bool {
	if !s.on(RuleSubscribe) {
		return true
	}
	if a.online == "" || a.disabled || a.botless {
		return false
	}
	if kind == cardAction {
		return a.callbacks[kind]
	}
	return a.events[kind] || !slices.Contains(Events(), kind) // what is not in the list is of no interest here
}

// ready reports why an app cannot call anything that needs its bot.
func (a *app) ready(s *Server) *refusal {
	if a.botless && s.on(RuleBot) {
		return refuse(11205, "app do not have bot")
	}
	return nil
}

func (q request) botInfo() (any, *refusal) {
	if no := q.app.ready(q.s); no != nil {
		return nil, no
	}
	status := 2
	switch {
	case q.app.online == "":
		status = 0
	case q.app.disabled:
		status = 1
	}
	return flat{"bot": map[string]any{"activate_status": status, "app_name": q.app.name, "open_id": q.app.bot}}, nil
}

func (q request) scopes() (any, *refusal) {
	if q.app.online == "" && q.s.on(RuleBot) {
		return nil, refuse(212100, "app not install")
	}
	list := []map[string]any{}
	for _, sc := range Scopes() {
		status := 2 // not granted
		if q.app.scopes[sc] {
			status = 1
		}
		list = append(list, map[string]any{"scope_name": sc, "grant_status": status, "scope_type": "tenant"})
	}
	return map[string]any{"scopes": list}, nil
}

// self checks that a call is about the calling app, in a language.
func (q request) self() *refusal {
	lang, own := q.str("lang"), q.args["app"] == "me" || q.args["app"] == q.app.id
	if q.s.on(RuleParams) && (!own || !slices.Contains([]string{"zh_cn", "en_us", "ja_jp"}, lang)) {
		return refuse(210001, "param is invalid")
	}
	return nil
}

func (q request) application() (any, *refusal) {
	if no := q.self(); no != nil {
		return nil, no
	}
	status := 1
	switch {
	case q.app.disabled:
		status = 0
	case q.app.online == "":
		status = 2
	}
	app := map[string]any{"app_id": q.app.id, "status": status, "scene_type": 0, "online_version_id": q.app.online,
		"unaudit_version_id": q.app.waiting, "app_name": q.app.name}
	if !q.app.silent {
		app["event"] = map[string]any{"subscription_type": q.app.way, "subscribed_events": slices.Sorted(maps.Keys(q.app.events))}
		app["callback"] = map[string]any{"callback_type": q.app.way, "subscribed_callbacks": slices.Sorted(maps.Keys(q.app.callbacks))}
	}
	return map[string]any{"app": app}, nil
}

func (q request) version() (any, *refusal) {
	if no := q.self(); no != nil {
		return nil, no
	}
	if q.args["version"] != q.app.online || q.app.online == "" {
		return nil, refuse(210001, "param is invalid")
	}
	infos := []map[string]any{}
	for _, e := range slices.Sorted(maps.Keys(q.app.events)) {
		infos = append(infos, map[string]any{"event_type": e})
	}
	return map[string]any{"app_version": map[string]any{"version_id": q.app.online, "status": 1, "event_infos": infos}}, nil
}
