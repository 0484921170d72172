package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cligate/internal/chat"
)

// elicited is a form that the agent wants filled in.
type elicited struct {
	Mode    string     `json:"mode"`
	Call    string     `json:"toolCallId"`
	Message string     `json:"message"`
	Schema  formSchema `json:"requestedSchema"`
}

type formSchema struct {
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

// field is one entry of a form.
type field struct {
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Enum        []string   `json:"enum"`
	Names       []string   `json:"enumNames"`
	OneOf       []constant `json:"oneOf"`
	Items       *struct {
		Enum  []string   `json:"enum"`
		AnyOf []constant `json:"anyOf"`
	} `json:"items"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinLength int      `json:"minLength"`
	MaxLength int      `json:"maxLength"` // 0 = any
}

type constant struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// formReply answers a form.
type formReply struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// elicitation asks a person to fill in a form.
func (d *desk) elicitation(ctx context.Context, r request) (any, *rpcError) {
	e, _ := decode[elicited](r.params) // what cannot be read has no fields
	if e.Mode == "url" || len(e.Schema.Properties) == 0 {
		return formReply{Action: "decline"}, nil
	}
	t := d.asking(r)
	if t == nil {
		return formReply{Action: "cancel"}, nil
	}
	f := e.form()
	q := f.question
	q.Key = key(e.Call, r)
	a := t.ask(ctx, q)
	if t.asks.closed() {
		return formReply{Action: "cancel"}, nil
	}
	if a.Effect == chat.EffectDeny {
		return formReply{Action: "decline"}, nil
	}
	return f.fill(a), nil
}

// form is a question together with what is needed to answer it.
type form struct {
	question chat.Question
	fields   map[string]field
	notes    map[string]string // field → the field for an answer in own words
	required []string
}

// noteName finds the companion of a choice that takes an answer in own words.
var noteName = regexp.MustCompile(`^(.+)_(note|custom|other)$`)

// form turns a schema into a question: a choice for each field.
func (e elicited) form() form {
	f := form{fields: e.Schema.Properties, notes: map[string]string{}, required: e.Schema.Required}
	for name, fd := range e.Schema.Properties {
		if m := noteName.FindStringSubmatch(name); m != nil && len(fd.options()) == 0 {
			if _, ok := e.Schema.Properties[m[1]]; ok {
				f.notes[m[1]] = name
			}
		}
	}
	f.question = chat.Question{Kind: chat.AskChoice, Title: e.Message}
	companions := slices.Collect(maps.Values(f.notes))
	for _, name := range slices.Sorted(maps.Keys(e.Schema.Properties)) {
		fd := e.Schema.Properties[name]
		if slices.Contains(companions, name) {
			continue
		}
		q := chat.Query{ID: name, Text: cmp.Or(fd.Title, name), Options: fd.options(), Multi: fd.Type == "array"}
		switch {
		case len(e.Schema.Properties)-len(companions) == 1 && e.Message != "" && len(q.Options) > 0 && !strings.HasSuffix(fd.Title, "?"):
			q.Text, q.Header = e.Message, fd.Title
		case fd.Description != "":
			q.Header = fd.Description
		}
		q.Free = len(q.Options) == 0 || f.notes[name] != ""
		f.question.Queries = append(f.question.Queries, q)
	}
	if len(f.question.Queries) == 1 && len(f.question.Queries[0].Options) == 0 {
		f.question.Kind = chat.AskText
	}
	return f
}

// options are the values that a field may have; none where it is free.
func (fd field) options() []chat.Option {
	list := fd.OneOf
	for i, v := range fd.Enum {
		c := constant{Const: v, Title: v}
		if i < len(fd.Names) {
			c.Title = fd.Names[i]
		}
		list = append(list, c)
	}
	if fd.Items != nil {
		list = append(list, fd.Items.AnyOf...)
		for _, v := range fd.Items.Enum {
			list = append(list, constant{Const: v, Title: v})
		}
	}
	if fd.Type == "boolean" {
		list = []constant{{Const: "true", Title: "✓"}, {Const: "false", Title: "✗"}}
	}
	var out []chat.Option
	for _, c := range list {
		out = append(out, chat.Option{
			ID: c.Const, Label: cmp.Or(c.Title, c.Const), Hint: c.Description, Effect: chat.EffectChoose,
		})
	}
	return out
}

// fill puts a person's answer into the form.
func (f form) fill(a chat.Answer) formReply {
	content := map[string]any{}
	for _, query := range f.question.Queries {
		given := values(f.question, query, a)
		if len(given) == 0 {
			continue
		}
		f.put(content, query, given)
	}
	for _, name := range f.required {
		if _, ok := content[name]; !ok {
			return formReply{Action: "decline"} // the agent would refuse half a form
		}
	}
	return formReply{Action: "accept", Content: content}
}

// put puts one field's answer into the form's content.
func (f form) put(content map[string]any, query chat.Query, given []string) {
	offered := func(v string) bool {
		return slices.ContainsFunc(query.Options, func(o chat.Option) bool { return o.ID == v })
	}
	note := f.notes[query.ID]
	if note != "" && !slices.ContainsFunc(given, offered) {
		content[note] = strings.Join(given, ", ")
		for _, o := range query.Options { // an agent that insists on a choice offers one for this case
			if strings.HasPrefix(strings.ToLower(o.ID), "none of") {
				content[query.ID] = o.ID
			}
		}
		return
	}
	if v, ok := f.fields[query.ID].value(query, given); ok {
		content[query.ID] = v
	}
}

// value is an answer as the field wants it; false = it does not fit, and an
// agent would refuse the form for it.
func (fd field) value(query chat.Query, given []string) (any, bool) {
	if len(query.Options) > 0 {
		var ids []string
		for _, g := range given {
			i := slices.IndexFunc(query.Options, func(o chat.Option) bool {
				return o.ID == g || strings.EqualFold(o.Label, strings.TrimSpace(g))
			})
			if i < 0 {
				return nil, false
			}
			ids = append(ids, query.Options[i].ID)
		}
		given = ids
	}
	switch fd.Type {
	case "array":
		return given, true
	case "boolean":
		return given[0] == "true", true
	case "number", "integer":
		return fd.number(strings.TrimSpace(given[0]))
	default:
		n := utf8.RuneCountInString(given[0])
		return given[0], n >= fd.MinLength && (fd.MaxLength == 0 || n <= fd.MaxLength)
	}
}

func (fd field) number(s string) (any, bool) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil, math.IsNaN(v), math.IsInf(v, 0),
		fd.Type == "integer" && v != math.Trunc(v),
		fd.Minimum != nil && v < *fd.Minimum, fd.Maximum != nil && v > *fd.Maximum:
		return nil, false
	}
	return json.Number(strconv.FormatFloat(v, 'f', -1, 64)), true
}
