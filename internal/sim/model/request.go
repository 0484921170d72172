package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cligate/internal/sim/script"
)

// request is the part of a Messages request that matters here.
type request struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	System   json.RawMessage `json:"system"`
	Messages []message       `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; a plain string is one text block.
type content []block

type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Content content `json:"content"` // of a tool_result
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(b, (*[]block)(c))
}

func (c content) text() string {
	var sb strings.Builder
	for _, b := range c {
		sb.WriteString(b.Text)
	}
	return sb.String()
}

// own reports whether a text block of a user message is the user's own, not
// something that the client adds.
func own(text string) bool {
	for _, p := range []string{"<system-reminder>", "<local-command", "<command-", "[Request interrupted", "<task-notification>"} {
		if strings.HasPrefix(strings.TrimSpace(text), p) {
			return false
		}
	}
	return strings.TrimSpace(text) != ""
}

// steered is how the client introduces a message that came while it worked.
const steered = "The user sent a new message while you were working:"

// plain takes the client's words off a user's text.
func plain(text string) string {
	rest, ok := strings.CutPrefix(text, steered)
	if !ok {
		return text
	}
	own, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
	return own
}

// users returns the user's own texts, oldest first; at least one.
func (r *request) users() []string {
	var out []string
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Content {
			if b.Type == "text" && own(b.Text) {
				out = append(out, plain(b.Text))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, "say nothing was asked")
	}
	return out
}

// results returns the tool results that came after the last own user text,
// and the notification of a background task if that came last.
func (r *request) results() (results []string, notified bool) {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_result":
				results = append(results, b.Content.text())
			case b.Type == "text" && strings.Contains(b.Text, "<task-notification>"):
				notified = true
			case b.Type == "text" && own(b.Text):
				results, notified = nil, false
			}
		}
	}
	return results, notified
}

func (r *request) toolNames() []string {
	names := make([]string, 0, len(r.Tools))
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

// size is a rough number of input tokens.
func (r *request) size() int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Content.text())
	}
	return 1 + n/4
}

// out is one block of an answer.
type out struct {
	thinking bool
	text     []string // deltas; of a tool: none
	pause    time.Duration
	tool     string
	input    any
}

type failure struct {
	status int
	kind   string
	text   string
	times  int // 0 = always
}

// reply is what to answer.
type reply struct {
	blocks []out
	fail   *failure
	cut    bool // break the stream off after the blocks
	hang   bool // say nothing more after the blocks
}

// maxScript is the longest text that is taken for a script; longer ones are
// prompts of the client's own, or loads.
const maxScript = 2000

// reply works out the answer: the steps of the last user text, from the one
// after the last tool that has a result, up to and including the next tool.
func (r *request) reply(users []string) *reply {
	results, notified := r.results()
	rep := &reply{}
	if notified {
		rep.say("the background task is done")
		return rep
	}
	last := users[len(users)-1]
	if len(last) > maxScript {
		rep.say(fmt.Sprintf("%d bytes", len(last)))
		return rep
	}
	steps := script.Parse(last)
	skip := len(results)
	for _, st := range steps {
		if n := toolUses(st); skip > 0 {
			skip -= n
			continue
		}
		if r.step(rep, st, users) {
			return rep
		}
	}
	if len(rep.blocks) == 0 && len(results) > 0 {
		rep.say("ran: " + results[len(results)-1])
	}
	return rep
}

// step adds one step to the answer and reports whether the answer ends there.
func (r *request) step(rep *reply, st script.Step, users []string) bool {
	switch st.Verb {
	case "stream":
		o := out{pause: time.Duration(st.Int(1, 10)) * time.Millisecond}
		for i := range st.Int(0, 5) {
			o.text = append(o.text, fmt.Sprintf("tick %d ", i+1))
		}
		rep.blocks = append(rep.blocks, o)
	case "slow":
		rep.blocks = append(rep.blocks, out{text: []string{""}, pause: time.Duration(st.Int(0, 100)) * time.Millisecond})
	case "think":
		rep.blocks = append(rep.blocks, out{thinking: true, text: []string{st.Rest}})
	case "remember":
		rep.say("I will remember " + script.Word(users))
	case "what":
		rep.say("the word was " + script.Word(users))
	case "recall":
		rep.say("recall: " + strings.Join(users[:len(users)-1], " | "))
	case "fail":
		status := st.Int(0, http.StatusInternalServerError)
		rep.fail = &failure{status: status, kind: errorKind(status), text: "as told", times: st.Int(1, 0)}
	case "cut":
		rep.say("half of the ans")
		rep.cut = true
	case "hang":
		rep.hang = true
	case "say", script.Echo:
		rep.say(st.Rest)
	default:
		if name, inputs := toolCalls(st); name != "" {
			return r.call(rep, name, inputs)
		}
		rep.say("the model does not do " + st.Verb)
	}
	return rep.cut || rep.hang
}

func (r *request) call(rep *reply, name string, inputs []any) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			for _, in := range inputs {
				rep.blocks = append(rep.blocks, out{tool: name, input: in})
			}
			return true
		}
	}
	rep.say("no tool " + name)
	return false
}

func (p *reply) say(text string) { p.blocks = append(p.blocks, out{text: pieces(text)}) }

// pieces cuts text into a few deltas at spaces.
func pieces(text string) []string {
	var ps []string
	for len(text) > 12 {
		cut := strings.IndexByte(text[8:], ' ')
		if cut < 0 {
			break
		}
		ps, text = append(ps, text[:8+cut]), text[8+cut:]
	}
	return append(ps, text)
}

func errorKind(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	case http.StatusBadRequest:
		return "invalid_request_error"
	default:
		return "api_error"
	}
}
