package demo

import (
	"encoding/json"
	"slices"
)

// The permission modes: "ask" asks in the first, does nothing in the second
// and asks nobody in the third.
const (
	modeDefault = "default"
	modePlan    = "plan"
	modeYolo    = "yolo"
)

// What can be chosen. None of it changes what is answered, but for "model",
// which tells it.
var (
	modes   = []string{modeDefault, modePlan, modeYolo}
	models  = []string{"demo-large", "demo-small"}
	efforts = []string{"low", "medium", "high"}
)

// settings are how a session is set.
type settings struct{ mode, model, effort string }

func (s *session) settings() settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// offers is what a client is told about a session's settings.
func (s settings) offers() map[string]any {
	list := func(key string, names []string) (all []any) {
		for _, n := range names {
			all = append(all, map[string]any{key: n, "name": n})
		}
		return all
	}
	return map[string]any{
		"modes":         map[string]any{"currentModeId": s.mode, "availableModes": list("id", modes)},
		"models":        map[string]any{"currentModelId": s.model, "availableModels": list("modelId", models)},
		"configOptions": s.options(),
	}
}

// options are the settings that have no method of their own.
func (s settings) options() []any {
	var values []any
	for _, e := range efforts {
		values = append(values, map[string]any{"value": e, "name": e})
	}
	return []any{map[string]any{
		"id": "effort", "name": "effort", "category": "thought_level", "type": "select",
		"currentValue": s.effort, "options": values,
	}}
}

// change carries out a change of one setting.
func (a *agent) change(params json.RawMessage) (any, error) {
	var p struct {
		ID     string `json:"sessionId"`
		Mode   string `json:"modeId"`
		Model  string `json:"modelId"`
		Option string `json:"configId"`
		Value  string `json:"value"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &failure{codeParams, "unreadable parameters"}
	}
	s, err := a.find(p.ID)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.Contains(modes, p.Mode):
		s.set.mode = p.Mode
	case slices.Contains(models, p.Model):
		s.set.model = p.Model
	case p.Option == "effort" && slices.Contains(efforts, p.Value):
		s.set.effort = p.Value
		return map[string]any{"configOptions": s.set.options()}, nil
	default:
		return nil, &failure{codeParams, "no such mode, model or option"}
	}
	return map[string]any{}, nil
}

// Figures that are made up, so that they can be shown. Money is told as a sum
// over the session, as the protocol wants it.
const (
	baseTokens  = 1000
	windowSize  = 200_000
	costPerTurn = 0.01
)

// usage is what a turn is said to have cost; the session's sums go out as an
// update.
func (s *session) usage(prompt string) map[string]any {
	in, out := baseTokens+len(prompt), 1+s.said.Len()
	s.update(s.sums(in + out))
	return map[string]any{"inputTokens": in, "outputTokens": out, "totalTokens": in + out}
}

// sums are the session's figures after a turn of that many tokens.
func (s *session) sums(tokens int) map[string]any {
	turns := s.book.turns()
	return map[string]any{
		"sessionUpdate": "usage_update", "used": min(windowSize, baseTokens+tokens+100*turns), "size": windowSize,
		"cost": map[string]any{"amount": costPerTurn * float64(turns), "currency": "USD"},
	}
}
