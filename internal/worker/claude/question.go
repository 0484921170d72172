package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cligate/internal/chat"
)

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

// question is what a permission request asks of a person.
func question(m requestMsg) (chat.Question, error) {
	r := m.Request
	q := chat.Question{Key: r.ToolUse, Tool: r.Tool}
	if q.Key == "" {
		q.Key = m.ID
	}
	switch r.Tool {
	case toolQuestion:
		q.Kind = chat.AskChoice
		var err error
		q.Queries, err = queries(r.Input)
		return q, err
	case toolPlan:
		q.Kind = chat.AskPlan
		q.Options = options(false)
		q.Detail = r.plan
		return q, nil
	default:
		q.Kind = chat.AskApproval
		q.Title = toolTitle(r.Tool, r.Input)
		q.Detail = toolDetail(r.Tool, r.Input)
		q.Options = options(true)
		return q, nil
	}
}

// planText reads a plan out of a tool's input, or out of the agent's answer to
// "get_plan"; empty when there is none.
func planText(raw json.RawMessage) string {
	var in struct {
		Plan    string `json:"plan"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return ""
	}
	return in.Plan + in.Content
}

// asked is the input of the question tool.
type asked struct {
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
		Multi bool `json:"multiSelect"`
	} `json:"questions"`
}

func queries(input json.RawMessage) ([]chat.Query, error) {
	var in asked
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("read the questions: %w", err)
	}
	if len(in.Questions) == 0 {
		return nil, errors.New("a question tool without questions")
	}
	qs := make([]chat.Query, 0, len(in.Questions))
	for i, q := range in.Questions {
		opts := make([]chat.Option, 0, len(q.Options))
		for _, o := range q.Options {
			opts = append(opts, chat.Option{ID: o.Label, Label: o.Label, Effect: chat.EffectChoose, Hint: o.Description})
		}
		qs = append(qs, chat.Query{
			ID: strconv.Itoa(i), Header: q.Header, Text: q.Question, Options: opts, Multi: q.Multi, Free: true,
		})
	}
	return qs, nil
}

// Words to the agent about a denial; the model reads them.
const (
	saysDenied    = "The user denied this."
	saysUndecided = "Nobody decided about this, so it is denied."
	saysNothing   = "None of these."
	saysUnclear   = "This request could not be shown to the user, so it is denied."
)

// verdict is what the agent gets as the answer to a permission request. It is
// always a plain yes or no to this one request: what holds for a session is
// the gateway's own rule, and nothing is written into the agent's settings. A
// yes to a plan leads into the mode that asks. err means that nobody decided.
func verdict(r request, q chat.Question, a chat.Answer, err error) object {
	if err != nil {
		return deny(saysUndecided)
	}
	if q.Kind == chat.AskChoice {
		return chosen(r.Input, q, a)
	}
	if a.Effect != chat.EffectAllow && a.Effect != chat.EffectSession {
		if a.Text != "" {
			return deny(saysDenied + " " + a.Text)
		}
		return deny(saysDenied)
	}
	yes := object{"behavior": "allow", "updatedInput": orEmpty(r.Input)}
	if q.Kind == chat.AskPlan {
		yes["updatedPermissions"] = []object{{"type": "setMode", "mode": modeAsk, "destination": "session"}}
	}
	return yes
}

func deny(why string) object { return object{"behavior": "deny", "message": why} }

// denyAll denies and ends what the agent does: the turn was cancelled.
func denyAll() object {
	no := deny(saysUndecided)
	no["interrupt"] = true
	return no
}

func orEmpty(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	return input
}

// chosen answers the question tool: the input as it came, and the answers by
// the text of their question.
func chosen(input json.RawMessage, q chat.Question, a chat.Answer) object {
	if a.Effect == chat.EffectDeny {
		return deny(strings.TrimSpace("The user did not answer. " + a.Text))
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return deny(saysUnclear)
	}
	answers := map[string]string{}
	for _, query := range q.Queries {
		switch values, ok := a.Values[query.ID]; {
		case len(values) > 0:
			answers[query.Text] = strings.Join(values, ", ")
		case ok:
			answers[query.Text] = saysNothing
		}
	}
	if len(a.Values) == 0 && len(q.Queries) == 1 { // one question, answered as a whole
		if one := a.Option + a.Text; one != "" {
			answers[q.Queries[0].Text] = one
		}
	}
	if len(answers) == 0 {
		return deny("The user did not answer.")
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return deny(saysUnclear)
	}
	in["answers"] = raw
	return object{"behavior": "allow", "updatedInput": in}
}
