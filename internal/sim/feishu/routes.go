package feishu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// route is one API.
type route struct {
	name   string
	method string
	path   []string // segments; a segment that begins with ":" is a name
	scope  []string // one of them is needed; empty = none
	open   bool     // no token is needed
	do     func(request) (any, *refusal)
}

// cardCall is a call about a card entity, mailCall one about a message, fileCall
// one about a file.
type (
	cardCall struct{ request }
	mailCall struct{ request }
	fileCall struct{ request }
)

type answers = func(request) (any, *refusal)

func onCard(f func(cardCall) (any, *refusal)) answers {
	return func(q request) (any, *refusal) { return f(cardCall{q}) }
}

func onMessage(f func(mailCall) (any, *refusal)) answers {
	return func(q request) (any, *refusal) { return f(mailCall{q}) }
}

func onFile(f func(fileCall) (any, *refusal)) answers {
	return func(q request) (any, *refusal) { return f(fileCall{q}) }
}

// routes are the APIs that exist.
var routes = []route{
	{name: "token", method: "POST", path: path("auth/v3/tenant_access_token/internal"), open: true, do: request.token},
	{name: "bot.info", method: "GET", path: path("bot/v3/info"), do: request.botInfo},
	{name: "scopes", method: "GET", path: path("application/v6/scopes"), do: request.scopes},
	{name: "application.get", method: "GET", path: path("application/v6/applications/:app"), scope: []string{"application:application:self_manage", "admin:app.info:readonly"}, do: request.application},
	{name: "version.get", method: "GET", path: path("application/v6/applications/:app/app_versions/:version"), scope: []string{"application:application:self_manage", "application:application.app_version:readonly"}, do: request.version},
	{name: "user.get", method: "GET", path: path("contact/v3/users/:user"), scope: []string{"contact:user.base:readonly"}, do: request.user},
	{name: "chat.get", method: "GET", path: path("im/v1/chats/:chat"), scope: []string{"im:chat:readonly"}, do: request.chat},
	{name: "message.list", method: "GET", path: path("im/v1/messages"), scope: reading, do: onMessage(mailCall.list)},
	{name: "message.create", method: "POST", path: path("im/v1/messages"), scope: sending, do: onMessage(mailCall.create)},
	{name: "message.get", method: "GET", path: path("im/v1/messages/:message"), scope: reading, do: onMessage(mailCall.get)},
	{name: "message.reply", method: "POST", path: path("im/v1/messages/:message/reply"), scope: sending, do: onMessage(mailCall.reply)},
	{name: "message.update", method: "PUT", path: path("im/v1/messages/:message"), scope: editing, do: onMessage(mailCall.update)},
	{name: "message.patch", method: "PATCH", path: path("im/v1/messages/:message"), scope: editing, do: onMessage(mailCall.patch)},
	{name: "message.delete", method: "DELETE", path: path("im/v1/messages/:message"), scope: sending, do: onMessage(mailCall.recall)},
	{name: "resource.get", method: "GET", path: path("im/v1/messages/:message/resources/:key"), scope: reading, do: onFile(fileCall.resource)},
	{name: "reaction.create", method: "POST", path: path("im/v1/messages/:message/reactions"), scope: reacting, do: request.react},
	{name: "reaction.list", method: "GET", path: path("im/v1/messages/:message/reactions"), scope: marks, do: request.reactions},
	{name: "reaction.delete", method: "DELETE", path: path("im/v1/messages/:message/reactions/:reaction"), scope: reacting, do: request.unreact},
	{name: "image.create", method: "POST", path: path("im/v1/images"), scope: []string{"im:resource"}, do: onFile(fileCall.uploadImage)},
	{name: "file.create", method: "POST", path: path("im/v1/files"), scope: []string{"im:resource"}, do: onFile(fileCall.uploadFile)},
	{name: "card.create", method: "POST", path: path("cardkit/v1/cards"), scope: writing, do: onCard(cardCall.makeCard)},
	{name: "card.convert", method: "POST", path: path("cardkit/v1/cards/id_convert"), scope: writing, do: onCard(cardCall.convert)},
	{name: "card.update", method: "PUT", path: path("cardkit/v1/cards/:card"), scope: writing, do: onCard(cardCall.setCard)},
	{name: "card.settings", method: "PATCH", path: path("cardkit/v1/cards/:card/settings"), scope: writing, do: onCard(cardCall.setSettings)},
	{name: "card.batch", method: "POST", path: path("cardkit/v1/cards/:card/batch_update"), scope: writing, do: onCard(cardCall.batch)},
	{name: "element.create", method: "POST", path: path("cardkit/v1/cards/:card/elements"), scope: writing, do: onCard(cardCall.addElements)},
	{name: "element.content", method: "PUT", path: path("cardkit/v1/cards/:card/elements/:element/content"), scope: writing, do: onCard(cardCall.stream)},
	{name: "element.update", method: "PUT", path: path("cardkit/v1/cards/:card/elements/:element"), scope: writing, do: onCard(cardCall.setElement)},
	{name: "element.patch", method: "PATCH", path: path("cardkit/v1/cards/:card/elements/:element"), scope: writing, do: onCard(cardCall.patchElement)},
	{name: "element.delete", method: "DELETE", path: path("cardkit/v1/cards/:card/elements/:element"), scope: writing, do: onCard(cardCall.dropElement)},
}

var (
	reading  = []string{"im:message", "im:message:readonly", "im:message.p2p_msg:readonly"}
	sending  = []string{"im:message", "im:message:send_as_bot"}
	editing  = []string{"im:message", "im:message:update"}
	reacting = []string{"im:message", "im:message.reactions:write_only"}
	marks    = []string{"im:message", "im:message:readonly", "im:message.reactions:read"}
	writing  = []string{"cardkit:card:write"}
)

func path(s string) []string { return strings.Split("open-apis/"+s, "/") }

// match finds the API of a path and the values of its names.
func match(method, at string) (*route, map[string]string) {
	parts := strings.Split(strings.Trim(at, "/"), "/")
	for i := range routes {
		r := &routes[i]
		if r.method != method || len(r.path) != len(parts) {
			continue
		}
		args := map[string]string{}
		for k, seg := range r.path {
			if name, ok := strings.CutPrefix(seg, ":"); ok {
				args[name] = parts[k]
			} else if seg != parts[k] {
				args = nil
				break
			}
		}
		if args != nil {
			return r, args
		}
	}
	return nil, nil
}

// request is one call with what it carries.
type request struct {
	s    *Server
	app  *app
	call *Call // what the journal will say of it
	// later is what the call causes beside its answer.
	later *[]func()
	args  map[string]string
	body  map[string]any
	raw   []byte
	form  *multipart.Form
	head  http.Header
}

// bodyLimit bounds what is read of a call.
const bodyLimit = 64 << 20

func read(r *http.Request, args map[string]string) (request, error) {
	q := request{args: args, body: map[string]any{}, head: r.Header}
	for k, v := range r.URL.Query() {
		q.args[k] = v[0]
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	if err != nil {
		return q, err
	}
	q.raw = raw
	kind := r.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "multipart/"):
		r.Body = io.NopCloser(bytes.NewReader(raw))
		if err := r.ParseMultipartForm(bodyLimit); err != nil {
			return q, err
		}
		q.form = r.MultipartForm
	case len(raw) == 0:
	default:
		if !strings.HasPrefix(kind, "application/json") {
			return q, fmt.Errorf("content type %q", kind)
		}
		if err := json.Unmarshal(raw, &q.body); err != nil {
			return q, errors.New("request body is not a json object")
		}
	}
	return q, nil
}

// str is a string of the path, the query, the form or the body.
func (q request) str(name string) string {
	if v, ok := q.args[name]; ok {
		return v
	}
	if q.form != nil && len(q.form.Value[name]) > 0 {
		return q.form.Value[name][0]
	}
	s, _ := q.body[name].(string)
	return s
}

func (q request) num(name string) int {
	if f, ok := q.body[name].(float64); ok {
		return int(f)
	}
	n, _ := strconv.Atoi(q.str(name))
	return n
}

func (q request) flag(name string) bool {
	b, _ := q.body[name].(bool)
	return b
}

// chatOf is the chat that a call is about, as far as it says so itself.
func (s *Server) chatOf(r *route, q request) string {
	if r.name == "message.create" {
		return q.str("receive_id")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.world.messages[q.args["message"]]; m != nil {
		return m.Chat
	}
	if c := s.world.cards[q.args["card"]]; c != nil && s.world.messages[c.message] != nil {
		return s.world.messages[c.message].Chat
	}
	return ""
}
