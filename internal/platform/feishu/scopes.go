package feishu

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cligate/internal/i18n"
)

// need is a right of the app that something here makes use of. One of any is
// enough; the first is the one to ask for.
type need struct {
	name string
	any  []string
	what string // that does not work without it
	must bool   // too much does not work without it
	// probe is a call that the scope allows and that changes nothing, as what it
	// is about does not exist; without one the list of grants alone tells.
	probe *call
}

// nobody and nowhere exist at no service.
const (
	nobody  = "ou_00000000000000000000000000000000"
	nowhere = "oc_00000000000000000000000000000000"
	nothing = "om_00000000000000000000000000000000"
)

const (
	scopeGroups = "im:message.group_msg"
	scopeSelf   = "application:application:self_manage"
)

// needs lists the rights in the order in which they matter.
func needs() []need {
	read := func(path string) *call { return &call{method: http.MethodGet, path: path} }
	text := object{"receive_id": nowhere, "msg_type": "text", "content": `{"text":"."}`}
	return []need{
		{"direct messages", []string{"im:message.p2p_msg:readonly"}, "messages in direct chats do not arrive", true, nil},
		{"mentions", []string{"im:message.group_at_msg:readonly", scopeGroups}, "mentions in groups do not arrive", true, nil},
		{"sending", []string{"im:message:send_as_bot", "im:message"}, "it cannot answer", true,
			&call{method: http.MethodPost, path: "im/v1/messages", query: map[string]string{"receive_id_type": "chat_id"}, body: text}},
		{"editing", []string{"im:message:update", "im:message"}, "its messages cannot be changed: old buttons stay", true,
			&call{method: http.MethodPut, path: "im/v1/messages/" + nothing, body: object{"msg_type": "text", "content": `{"text":"."}`}}},
		{"reading", []string{"im:message:readonly", "im:message"}, "quoted messages, forwards, files and withdrawn messages are not seen", true, read("im/v1/messages/" + nothing)},
		{"files", []string{"im:resource"}, "files and pictures cannot be sent", true, nil},
		{"cards", []string{"cardkit:card:write"}, "answers do not appear while they grow", true,
			&call{method: http.MethodPatch, path: "cardkit/v1/cards/0/settings", body: object{"settings": `{"config":{}}`, "sequence": 1}}},
		{"chats", []string{"im:chat:readonly", "im:chat", "im:chat:read"}, "it does not know direct chats from groups when a button is pressed", true, read("im/v1/chats/" + nowhere)},
		{"reactions", []string{"im:message.reactions:write_only", "im:message"}, "no reaction shows how a message stands", false,
			&call{method: http.MethodPost, path: "im/v1/messages/" + nothing + "/reactions", body: object{"reaction_type": object{"emoji_type": "OK"}}}},
		{"gestures", []string{"im:message.reactions:read", "im:message:readonly"}, "reactions of people are not seen", false, nil},
		{"names", []string{"contact:user.base:readonly"}, "people are shown without their names", false,
			&call{method: http.MethodGet, path: "contact/v3/users/" + nobody, query: map[string]string{"user_id_type": "open_id"}}},
		{"all group messages", []string{scopeGroups}, "in groups only mentions arrive; /listen all and answers without a mention need it (it counts as sensitive: an administrator approves it)", false, nil},
		{"joining groups", []string{"im:chat.members:bot_access", "im:chat:readonly", "im:chat"}, "it does not notice when it is added to a group", false, nil},
		{"opening the chat", []string{"im:chat.access_event.bot_p2p_chat:read"}, "nobody is welcomed who opens the chat with it", false, nil},
		{"own settings", []string{scopeSelf, "admin:app.info:readonly"}, "it cannot look up which events and callbacks are subscribed", false, nil},
	}
}

// Scopes are the scopes to be imported in the developer console.
func Scopes() (out []string) {
	for _, n := range needs() {
		out = append(out, n.any[0])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// grants is what the service said of the app's scopes. The zero one knows
// nothing.
type grants struct {
	mu    sync.Mutex
	known bool
	have  map[string]bool
}

// has reports whether one of the scopes is granted; known is false while that is
// not known.
func (g *grants) has(scopes ...string) (yes, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(scopes, func(s string) bool { return g.have[s] }), g.known
}

// ask has the service list the scopes again. It takes no scope to ask.
func (g *grants) ask(ctx context.Context, r *rest) error {
	var out struct {
		Scopes []struct {
			Name   string `json:"scope_name"`
			Status int    `json:"grant_status"` // 1 = granted
			Kind   string `json:"scope_type"`   // of whom: tenant, user; may be left out
		} `json:"scopes"`
	}
	if err := r.do(ctx, call{method: http.MethodGet, path: "application/v6/scopes"}, &out); err != nil {
		return err
	}
	have := map[string]bool{}
	for _, s := range out.Scopes {
		if s.Status == 1 && s.Kind != "user" {
			have[s.Name] = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.have = true, have
	return nil
}

// The text of a refusal for want of a scope names the scopes, one of which is
// enough, and the page on which they are granted.
var (
	scopeList = regexp.MustCompile(`\[([a-z0-9_.:, -]+)\]`)
	grantPage = regexp.MustCompile(`https?://[^\s，。）)]+`)
)

// wanting takes a refusal's text apart. Either may be empty.
func wanting(text string) (scopes []string, page string) {
	if m := scopeList.FindStringSubmatch(text); m != nil {
		for s := range strings.SplitSeq(m[1], ",") {
			if s = strings.TrimSpace(s); s != "" {
				scopes = append(scopes, s)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), grantPage.FindString(text)
}

// page is where the scopes are granted.
func (c Config) page(scopes ...string) string {
	return c.BaseURL + "/app/" + c.AppID + "/auth?q=" + strings.Join(scopes, ",")
}

// lacks is told that a call at path was refused for want of a scope. The
// operator hears of each scope once, however many calls need it.
func (a *Adapter) lacks(path, text string) {
	if a.looking.Load() > 0 {
		return // the operator is asking just now
	}
	scopes, page := wanting(text)
	if page == "" {
		page = a.cfg.page(scopes...)
	}
	if len(scopes) == 0 {
		scopes = []string{text}
	}
	speaks := path != "im/v1/messages" && !strings.HasSuffix(path, "/reply") // else it is the right to speak
	a.want(scopes, page, path, speaks)
}

// reviewEvery is the time between two looks at the scopes.
const reviewEvery = time.Hour

// review looks at the scopes at the start, and now and then: what does not
// arrive for want of one never shows by itself. It returns when ctx ends.
func (a *Adapter) review(ctx context.Context) {
	for {
		if err := a.grants.ask(ctx, a.rest); err != nil {
			a.log.DebugContext(ctx, "scopes not known", "err", err)
		} else {
			a.remind()
		}
		if !sleep(ctx, reviewEvery) {
			return
		}
	}
}

// remind tells the operator of scopes that are missing and needed.
func (a *Adapter) remind() {
	for _, n := range needs() {
		must := n.must || n.any[0] == scopeGroups && a.cfg.ListenAll
		if yes, _ := a.grants.has(n.any...); yes || !must {
			continue
		}
		a.want(n.any, a.cfg.page(n.any...), n.what, n.name != "sending")
	}
}

// want tells the operator of a missing scope, one of names: once, however it
// shows and however many calls need it.
func (a *Adapter) want(names []string, page, so string, speaks bool) {
	list := strings.Join(slices.Sorted(slices.Values(names)), ", ")
	a.log.Warn("a scope is missing", "scopes", list, "so", so)
	a.link.Once("scope/"+list, i18n.T(a.cfg.Lang, "feishu.scope", "scopes", list, "page", page), speaks)
}

// overhears reports whether the bot is given what does not concern it, unless
// it is known that it is not.
func (a *Adapter) overhears() bool {
	yes, known := a.grants.has(scopeGroups)
	return yes || !known
}
