package feishu

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of the components of a form.
const (
	maxInput       = 1000 // characters that an input takes
	maxPlaceholder = 100  // characters
)

// fillable are the components whose values a form sends; picky those with
// options.
var (
	fillable = []string{"input", "select_static", "multi_select_static", "checker"}
	picky    = []string{"select_static", "multi_select_static"}
)

// form checks a form container: it lies at the root, holds neither tables,
// charts nor forms, and has a button that submits. Which code the service
// answers with is assumed.
func (in *inspector) form(el map[string]any, depth int) *finding {
	name, _ := el["name"].(string)
	if in.s.on(RuleCallback) {
		switch {
		case name == "":
			return wrong(200621, "parse card json err: a form needs a name")
		case in.names[name]:
			return wrong(200621, "parse card json err: name %q is duplicated", name)
		}
		in.names[name] = true
	}
	if !in.s.on(RuleForm) {
		return nil
	}
	if depth > 1 {
		return wrong(200621, "parse card json err: a form lies at the root of a card only")
	}
	submits := false
	var bad string
	below(el, func(x map[string]any) {
		switch tag, _ := x["tag"].(string); tag {
		case "form", "table", "chart":
			bad = tag
		case "button":
			submits = submits || x["form_action_type"] == "submit"
		}
	})
	switch {
	case bad != "":
		return wrong(200621, "parse card json err: a form must not hold a %s", bad)
	case !submits:
		return wrong(200621, "parse card json err: a form needs a button that submits")
	}
	return nil
}

// below visits everything inside a container.
func below(el map[string]any, visit func(map[string]any)) {
	tag, _ := el["tag"].(string)
	list, _ := el[containers[tag]].([]any)
	for _, x := range list {
		if in, ok := x.(map[string]any); ok {
			visit(in)
			below(in, visit)
		}
	}
}

// component checks what can be filled in.
func (in *inspector) component(el map[string]any, tag, form string) *finding {
	if !in.s.on(RuleForm) {
		return nil
	}
	bad := func(format string, args ...any) *finding {
		return wrong(200621, "parse card json err: %s: %s", tag, fmt.Sprintf(format, args...))
	}
	if hint, ok := el["placeholder"]; ok {
		text, ok := plainText(hint)
		if !ok || utf8.RuneCountInString(text) > maxPlaceholder {
			return bad("placeholder")
		}
	}
	if label, ok := el["label"]; ok {
		if _, ok := plainText(label); !ok || tag != "input" {
			return bad("label")
		}
	}
	if _, ok := el["required"]; ok && form == "" {
		return bad("required is for forms only")
	}
	switch {
	case tag == "multi_select_static" && form == "":
		return bad("it lies in a form only")
	case tag == "input":
		return inputAs(el, bad)
	case slices.Contains(picky, tag):
		return optionsOf(el, bad)
	}
	return nil
}

func plainText(v any) (string, bool) {
	m, _ := v.(map[string]any)
	text, ok := m["content"].(string)
	return text, ok && m["tag"] == "plain_text"
}

func inputAs(el map[string]any, bad func(string, ...any) *finding) *finding {
	limit := maxInput
	if v, ok := el["max_length"]; ok {
		f, isNumber := v.(float64)
		if limit = int(f); !isNumber || f != float64(limit) || limit < 1 || limit > maxInput {
			return bad("max_length %v", v)
		}
	}
	if v, ok := el["default_value"]; ok {
		text, isText := v.(string)
		if !isText || utf8.RuneCountInString(text) > limit {
			return bad("default_value")
		}
	}
	if v, ok := el["input_type"]; ok && !slices.Contains([]any{"text", "multiline_text", "password"}, v) {
		return bad("input_type %v", v)
	}
	return nil
}

func optionsOf(el map[string]any, bad func(string, ...any) *finding) *finding {
	list, _ := el["options"].([]any)
	if len(list) == 0 {
		return bad("no options")
	}
	var values []string
	for _, x := range list {
		o, _ := x.(map[string]any)
		v, ok := o["value"].(string)
		text, plain := plainText(o["text"])
		switch {
		case !ok || v == "":
			return bad("an option needs a value, which is a string")
		case slices.Contains(values, v):
			return bad("value %q is duplicated", v)
		case !plain || text == "":
			return bad("an option needs a text")
		}
		values = append(values, v)
	}
	if v, ok := el["initial_index"]; ok {
		if f, isNumber := v.(float64); !isNumber || f < 0 || int(f) > len(list) || el["tag"] != "select_static" {
			return bad("initial_index %v", v)
		}
	}
	if v, ok := el["selected_values"]; ok {
		chosen, isList := v.([]any)
		if !isList || el["tag"] != "multi_select_static" {
			return bad("selected_values")
		}
		for _, c := range chosen {
			if s, _ := c.(string); !slices.Contains(values, s) {
				return bad("selected value %v is no option", c)
			}
		}
	}
	return nil
}

// filled is what stands in a component before anybody touches it.
func filled(el map[string]any) any {
	switch el["tag"] {
	case "input":
		text, _ := el["default_value"].(string)
		return text
	case "select_static":
		f, _ := el["initial_index"].(float64)
		list, _ := el["options"].([]any)
		if i := int(f) - 1; i >= 0 && i < len(list) {
			o, _ := list[i].(map[string]any)
			v, _ := o["value"].(string)
			return v
		}
		return ""
	case "multi_select_static":
		out := []string{}
		list, _ := el["selected_values"].([]any)
		for _, v := range list {
			s, _ := v.(string)
			out = append(out, s)
		}
		return out
	}
	return false
}

// Submit lets a person fill in the form of a message and press the button of it
// that has this label. By name of the component: a string for an input or for
// the value of an option, strings for several options; what is not mentioned
// stays as it is shown. The client keeps to what is on the card: an error is
// what it does not let people do.
//
// What a client sends of a select in which nothing is chosen is assumed: nothing.
func (x *crowd) Submit(app, message, from, label string, values map[string]any) (Click, error) {
	s := x.s
	s.mu.Lock()
	root := s.cardOf(message)
	s.mu.Unlock()
	if root == nil {
		return Click{}, fmt.Errorf("message %s is no card", message)
	}
	var button map[string]any
	var form string
	walk(root, func(el map[string]any, in string) bool {
		if text, _ := plainText(el["text"]); el["tag"] == "button" && in != "" && text == label && el["form_action_type"] == "submit" {
			button, form = el, in
		}
		return button == nil
	})
	if button == nil {
		return Click{}, fmt.Errorf("no form has a button %q", label)
	}
	sent, err := fill(root, form, values)
	if err != nil {
		return Click{}, err
	}
	value := control(button, "button", form).Value
	if value == nil && s.on(RuleCallback) {
		return Click{Code: 200340}, nil
	}
	name, _ := button["name"].(string)
	return x.act(app, message, from, map[string]any{
		"value": value, "tag": "button", "timezone": "Asia/Shanghai", "name": name, "form_value": sent,
	}), nil
}

// fill makes what a form sends.
func fill(root map[string]any, form string, values map[string]any) (map[string]any, error) {
	sent := map[string]any{}
	known := map[string]bool{}
	var err error
	walk(root, func(el map[string]any, in string) bool {
		tag, _ := el["tag"].(string)
		name, _ := el["name"].(string)
		if in != form || !slices.Contains(fillable, tag) {
			return true
		}
		known[name] = true
		v, ok := values[name]
		if !ok {
			v = filled(el)
		}
		if e := fits(el, v); e != nil && err == nil {
			err = fmt.Errorf("%s: %w", name, e)
		}
		if v != "" || tag == "input" {
			sent[name] = v
		}
		return true
	})
	for name := range values {
		if !known[name] && err == nil {
			err = fmt.Errorf("the form has no %s", name)
		}
	}
	return sent, err
}

// fits reports why a client does not take a value.
func fits(el map[string]any, v any) error {
	if b, _ := el["disabled"].(bool); b {
		return errors.New("it is disabled")
	}
	var chosen []string
	switch el["tag"] {
	case "input":
		text, ok := v.(string)
		limit := maxInput
		if f, has := el["max_length"].(float64); has {
			limit = int(f)
		}
		if !ok || utf8.RuneCountInString(text) > limit {
			return fmt.Errorf("it takes at most %d characters", limit)
		}
		if text != "" {
			chosen = []string{text}
		}
	case "select_static", "multi_select_static":
		switch t := v.(type) {
		case string:
			if t != "" {
				chosen = []string{t}
			}
		case []string:
			chosen = t
		}
		if _, several := v.([]string); several != (el["tag"] == "multi_select_static") {
			return errors.New("a value of the wrong kind")
		}
		c := control(el, "", "")
		for _, x := range chosen {
			if !slices.Contains(c.Options, x) {
				return fmt.Errorf("%q is no option", x)
			}
		}
	}
	if need, _ := el["required"].(bool); need && len(chosen) == 0 {
		return errors.New("it has to be filled in")
	}
	return nil
}

// cardOf is the JSON of the card that a message shows, nil when it shows none.
// The lock is held.
func (s *Server) cardOf(message string) map[string]any {
	m := s.world.messages[message]
	if m == nil || m.Type != "interactive" {
		return nil
	}
	if e := s.world.cards[m.Card]; e != nil {
		return e.root
	}
	var root map[string]any
	_ = json.Unmarshal([]byte(m.Content), &root)
	return root
}
