package feishu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Scopes are what an app can be granted.
func Scopes() []string {
	return []string{"im:message", "im:message:send_as_bot", "im:message:update", "im:message:readonly", "im:message.p2p_msg:readonly",
		"im:message.group_at_msg:readonly", "im:message.group_msg", "im:message.reactions:read", "im:message.reactions:write_only", "im:resource",
		"im:chat:readonly", "im:chat.members:bot_access", "im:chat.access_event.bot_p2p_chat:read", "cardkit:card:write",
		"contact:user.base:readonly", "application:application:self_manage"}
}

func allScopes() map[string]bool {
	m := map[string]bool{}
	for _, s := range Scopes() {
		m[s] = true
	}
	return m
}

// Withdraw takes scopes from an app.
func (x *console) Withdraw(app string, scopes ...string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range scopes {
		delete(s.apps[app].scopes, scope)
	}
}

// tokenLife is how long a tenant_access_token is good; the same one is handed
// out until less than half an hour is left.
const (
	tokenLife  = 2 * time.Hour
	tokenRenew = 30 * time.Minute
)

func (q request) token() (any, *refusal) {
	s := q.s
	a := s.apps[q.str("app_id")]
	q.call.App = q.str("app_id")
	if a == nil || a.secret != q.str("app_secret") {
		return nil, &refusal{status: http.StatusOK, code: 10014, msg: "app secret invalid"}
	}
	now := s.now()
	if until, ok := a.tokens[a.current]; !ok || until.Sub(now) < tokenRenew {
		a.current = s.id("t-" + a.id)
		a.tokens[a.current] = now.Add(tokenLife)
	}
	out := flat{"msg": "ok", "tenant_access_token": a.current}
	if !a.lifeless {
		out["expire"] = int(a.tokens[a.current].Sub(now).Seconds())
	}
	return out, nil
}

// TokenSaysNothing makes an app's tokens come without their life.
func (x *console) TokenSaysNothing(app string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app].lifeless = true
}

// RevokeTokens makes all tokens of an app invalid at once; the next one that
// is asked for is new.
func (x *console) RevokeTokens(app string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.apps[app].tokens)
}

// ChangeSecret makes an app's secret another one.
func (x *console) ChangeSecret(app, secret string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app].secret = secret
	clear(s.apps[app].tokens)
}

// bearer finds the app that a token belongs to.
func (s *Server) bearer(header string) (*app, *refusal) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || token == "" {
		return nil, refuse(99991661, "Missing access token for authorization. Please make a request with token attached.")
	}
	for _, a := range s.apps {
		until, known := a.tokens[token]
		if known && s.now().Before(until) || !s.on(RuleToken) && strings.HasPrefix(token, "t-"+a.id) {
			return a, nil
		}
	}
	return nil, refuse(99991663, "Invalid access token for authorization. Please make a request with token attached.")
}

// may reports why an app may not call an API: a scope is missing. The text
// carries the page on which it is granted.
func (a *app) may(s *Server, r *route) *refusal {
	if len(r.scope) == 0 || !s.on(RuleScope) || slices.ContainsFunc(r.scope, func(sc string) bool { return a.scopes[sc] }) {
		return nil
	}
	return refuse(99991672, "Access denied. One of the following scopes is required: [%s].应用尚未开通所需的应用身份权限：[%s]，点击链接申请并开通任一权限即可：https://open.feishu.cn/app/%s/auth?q=%s&op_from=openapi&token_type=tenant",
		joined(r.scope), joined(r.scope), a.id, strings.Join(r.scope, ","))
}

// endpoint is how an app's long connection is answered.
type endpoint struct {
	code      int // of the endpoint call; 0 = fine
	text      string
	status    int // HTTP status of the handshake; 0 = fine
	authCode  int
	pingEvery int // seconds, told to the client
	noConfig  bool
}

// EndpointFails makes the endpoint call of an app answer with a code; 0 heals.
func (x *console) EndpointFails(app string, code int, text string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app].endpoint.code, s.apps[app].endpoint.text = code, text
}

// HandshakeFails makes the handshake of the long connection fail with a
// status (514 with authCode, or 403); 0 heals.
func (x *console) HandshakeFails(app string, status, authCode int) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app].endpoint.status, s.apps[app].endpoint.authCode = status, authCode
}

// PingEvery sets the interval, in seconds, that clients of an app are told.
// none leaves the client's configuration out, zeroed fields and all.
func (x *console) PingEvery(app string, seconds int, none bool) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[app].endpoint.pingEvery, s.apps[app].endpoint.noConfig = seconds, none
}

// KnownAs makes the service name another address of its own when it says where
// to connect.
func (x *console) KnownAs(url string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = url
}

const (
	endpointPath = "/callback/ws/endpoint"
	socketPath   = "/ws/v2"
)

// config is what clients are told about pings and reconnecting.
func (e endpoint) config() map[string]any {
	if e.noConfig {
		return map[string]any{}
	}
	return map[string]any{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": e.pingEvery}
}

// openEndpoint hands out the address of the long connection.
func (s *Server) openEndpoint(w http.ResponseWriter, r *http.Request) {
	call := Call{At: time.Now(), Method: "endpoint"}
	defer func() { s.Note(call) }()
	if f := s.take("endpoint", ""); f != nil && f.before(w, r) {
		call.Error = "fault: " + string(f.Kind)
		return
	}
	var in struct{ AppID, AppSecret string }
	err := json.NewDecoder(r.Body).Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[in.AppID]
	call.App = in.AppID
	reply := func(code int, msg string, data any) {
		call.OK, call.Code, call.Error = code == 0, code, msg
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "msg": msg, "data": data})
	}
	switch {
	case err != nil || a == nil:
		reply(1000040345, "app not found", nil)
	case a.secret != in.AppSecret:
		reply(10014, "app secret invalid", nil)
	case (a.online == "" || a.disabled) && s.on(RuleBot):
		reply(1000040346, "the app is not enabled", nil) // that this is its code is assumed
	case a.endpoint.code != 0:
		reply(a.endpoint.code, a.endpoint.text, nil)
	default:
		device, ticket := s.id("dev"), s.id("ticket")
		s.ticket(ticket, a.id)
		url := fmt.Sprintf("ws%s%s?device_id=%s&service_id=7&ticket=%s", strings.TrimPrefix(cmp.Or(s.known, s.URL), "http"), socketPath, device, ticket)
		reply(0, "ok", map[string]any{"URL": url, "ClientConfig": a.endpoint.config()})
	}
}
