package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cligate/internal/chat"
)

// asked is what the server asks; each kind has some of the members.
type asked struct {
	Thread string `json:"threadId"`
	Turn   string `json:"turnId"`
	Item   string `json:"itemId"`
	ID     string `json:"approvalId"`
	Reason string `json:"reason"`

	Command string          `json:"command"`
	Dir     string          `json:"cwd"`
	Actions []action        `json:"commandActions"`
	More    json.RawMessage `json:"additionalPermissions"`
	Network json.RawMessage `json:"networkApprovalContext"`

	Root string `json:"grantRoot"`

	Permissions json.RawMessage `json:"permissions"`

	Questions []struct {
		ID      string `json:"id"`
		Header  string `json:"header"`
		Text    string `json:"question"`
		Other   bool   `json:"isOther"`
		Options []struct {
			Label string `json:"label"`
			Help  string `json:"description"`
		} `json:"options"`
	} `json:"questions"`

	Server  string          `json:"serverName"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`

	method string
	raw    json.RawMessage
	file   item // the patch that is asked about
	again  int  // the item was asked about before: which time this is
}

// Ids of the options of an approval.
const (
	optionAllow   = "allow"
	optionSession = "session"
	optionDeny    = "deny"
)

// options are those of every approval. They have no words of the agent's own:
// who shows them goes by the effect, in the reader's language.
func options(session bool) []chat.Option {
	opts := []chat.Option{{ID: optionAllow, Effect: chat.EffectAllow}}
	if session {
		opts = append(opts, chat.Option{ID: optionSession, Effect: chat.EffectSession})
	}
	return append(opts, chat.Option{ID: optionDeny, Effect: chat.EffectDeny})
}

// key is the agent's own id of what is asked.
func (p asked) key() string {
	switch {
	case p.ID != "":
		return p.ID
	case p.Item != "":
		return p.Item
	}
	return p.Turn + "/" + p.method
}

// question is what a request asks of a person.
func (p asked) question(workspace string) (chat.Question, error) {
	q := chat.Question{Key: p.key(), Kind: chat.AskApproval, Options: options(true)}
	if p.again > 1 {
		q.Key = fmt.Sprintf("%s#%d", q.Key, p.again)
	}
	switch p.method {
	case askCommand:
		q.Tool = names[itemCommand]
		q.Title, q.Detail = oneLine(plainCommand(p.Command, p.Actions)), p.command(workspace)
	case askFile:
		q.Tool = names[itemFile]
		q.Title, q.Detail = p.file.title(), p.patch()
	case askPermissions:
		q.Tool = "permissions"
		q.Title, q.Detail = oneLine(p.Reason), p.extra(workspace, indented(p.Permissions))
	case askUser:
		q.Kind, q.Options = chat.AskChoice, nil
		q.Queries = p.queries()
		if len(q.Queries) == 0 {
			return q, errors.New("a question tool without questions")
		}
	case askForm:
		if p.form() {
			return q, errors.New("a form that is not understood")
		}
		q.Tool, q.Title, q.Detail = p.Server, oneLine(p.Message), p.Message
	}
	if q.Kind == chat.AskApproval && strings.TrimSpace(q.Detail) == "" {
		q.Detail = indented(p.raw) // whatever it is, it is shown
	}
	return q, nil
}

// command is the exact request to run a command.
func (p asked) command(workspace string) string {
	parts := []string{plainCommand(p.Command, p.Actions)}
	for _, raw := range []json.RawMessage{p.More, p.Network} {
		if len(raw) > 0 && string(raw) != "null" {
			parts = append(parts, indented(raw))
		}
	}
	return p.extra(workspace, strings.Join(parts, "\n\n"))
}

// patch is the exact request to change files.
func (p asked) patch() string {
	detail := p.file.diff()
	if p.Root != "" {
		detail += "\n\n" + p.Root
	}
	return p.extra("", detail)
}

// extra adds where it is, if that is not the workspace, and why.
func (p asked) extra(workspace, detail string) string {
	if workspace != "" && p.Dir != "" && p.Dir != workspace {
		detail += "\n\nin " + p.Dir
	}
	if p.Reason != "" {
		detail += "\n\n" + p.Reason
	}
	return detail
}

func (p asked) queries() []chat.Query {
	qs := make([]chat.Query, 0, len(p.Questions))
	for _, q := range p.Questions {
		opts := make([]chat.Option, 0, len(q.Options))
		for _, o := range q.Options {
			opts = append(opts, chat.Option{ID: o.Label, Label: o.Label, Effect: chat.EffectChoose, Hint: o.Help})
		}
		qs = append(qs, chat.Query{ID: q.ID, Header: q.Header, Text: q.Text, Options: opts, Free: q.Other || len(opts) == 0})
	}
	return qs
}

// form reports whether more is asked than yes or no.
func (p asked) form() bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return p.Message == "" || len(p.Schema) == 0 || json.Unmarshal(p.Schema, &schema) != nil || len(schema.Properties) > 0
}

// verdict is what the agent hears as the answer. It is always a plain yes or no
// to this one request: what holds for a session is the gateway's own rule.
func (p asked) verdict(q chat.Question, a chat.Answer) object {
	if p.method == askUser {
		return object{"answers": chosen(q, a)}
	}
	if !a.Effect.Allows() {
		return p.no()
	}
	switch p.method {
	case askPermissions:
		return object{"permissions": p.Permissions, "scope": "turn"}
	case askForm:
		return object{"action": "accept", "content": object{}, "_meta": nil}
	}
	return object{"decision": "accept"}
}

// no is the answer that lets nothing happen and the turn go on.
func (p asked) no() object {
	switch p.method {
	case askUser:
		return object{"answers": object{}}
	case askPermissions:
		return object{"permissions": object{}, "scope": "turn"}
	case askForm:
		return object{"action": "decline", "content": nil, "_meta": nil}
	}
	return object{"decision": "decline"}
}

// cancelled is the answer when the turn is ended.
func (p asked) cancelled() object {
	switch p.method {
	case askCommand, askFile:
		return object{"decision": "cancel"}
	case askForm:
		return object{"action": "cancel", "content": nil, "_meta": nil}
	}
	return p.no()
}

// chosen are the answers to the question tool.
func chosen(q chat.Question, a chat.Answer) object {
	answers := object{}
	if a.Effect == chat.EffectDeny {
		return answers
	}
	for _, query := range q.Queries {
		if values := a.Values[query.ID]; len(values) > 0 {
			answers[query.ID] = object{"answers": values}
		}
	}
	if len(a.Values) == 0 && len(q.Queries) == 1 { // one question, answered as a whole
		if one := a.Option + a.Text; one != "" {
			answers[q.Queries[0].ID] = object{"answers": []string{one}}
		}
	}
	return answers
}

func indented(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}
