package feishu

import (
	"fmt"
	"strconv"

	"cligate/internal/chat"
)

// Limits of what can be pressed and filled in on one card. The service allows
// 200 elements and 30 KB, of which the text takes its part.
const (
	maxOptions = 100     // of all fields together
	maxForm    = 8 << 10 // bytes of the request
	maxInput   = 1000    // runes that an input holds
	maxHint    = 100     // runes of what stands in an empty field
)

// controls are what a card offers: buttons, and a form beside them or in their
// place.
func controls(p chat.Part, thread string) []any {
	if p.Form == nil {
		return buttons(p.Buttons, thread)
	}
	var out []any
	if !p.Form.Whole {
		out = buttons(p.Buttons, thread)
	}
	return append(out, fillIn(*p.Form, thread))
}

// fitting is f within the limits of a card, nil when it does not fit: words and
// buttons do it then.
func fitting(f *chat.Form) *chat.Form {
	if f == nil || len(f.Fields) == 0 || len(f.Send) == 0 {
		return nil
	}
	fit := f.Clone()
	for i := range fit.Send {
		fit.Send[i].Label = chat.Clip(fit.Send[i].Label, maxLabel)
	}
	options := 0
	for _, x := range fit.Fields {
		options += len(x.Options)
	}
	raw, err := text(fillIn(*fit, ""))
	if err != nil || options > maxOptions {
		return nil
	}
	if raw, err = text(raw); err != nil || len(raw) > maxForm { // a card is JSON within JSON
		return nil
	}
	return fit
}

// fillIn is a form container. A card has one at most, so that its name, and
// those of its fields, are the only ones.
func fillIn(f chat.Form, thread string) object {
	var els []any
	for _, x := range f.Fields {
		if x.Label != "" {
			els = append(els, object{"tag": "div", "text": plain(x.Label)})
		}
		els = append(els, field(x))
	}
	cols := make([]any, 0, len(f.Send))
	for i, b := range f.Send {
		el := button(b, thread)
		el["name"], el["form_action_type"] = fmt.Sprintf("send%d", i), "submit"
		cols = append(cols, column(el))
	}
	return object{"tag": "form", "name": "form", "elements": append(els, object{"tag": "column_set", "flex_mode": "flow", "columns": cols})}
}

// field is one component of a form. None is required: what is missing is kept
// open, and what was filled in is not lost.
func field(x chat.Field) object {
	el := object{"name": x.Name, "required": false, "width": "fill"}
	if x.Hint != "" {
		el["placeholder"] = plain(chat.Clip(x.Hint, maxHint))
	}
	switch {
	case len(x.Options) == 0:
		el["tag"], el["input_type"], el["max_length"] = "input", "multiline_text", maxInput
		el["rows"], el["auto_resize"] = 1, true
		if len(x.Values) > 0 && len([]rune(x.Values[0])) <= maxInput {
			el["default_value"] = x.Values[0]
		}
		return el
	case x.Multi:
		el["tag"], el["selected_values"] = "multi_select_static", append([]string{}, x.Values...)
	default:
		el["tag"] = "select_static"
		if len(x.Values) > 0 {
			if i, err := strconv.Atoi(x.Values[0]); err == nil {
				el["initial_index"] = i + 1 // 0 = none
			}
		}
	}
	options := make([]any, len(x.Options))
	for i, o := range x.Options {
		options[i] = object{"text": plain(o), "value": strconv.Itoa(i)}
	}
	el["options"] = options
	return el
}

// plain is a text without Markdown.
func plain(s string) object { return object{"tag": "plain_text", "content": s} }

// buttons are rows of buttons. What a press sends back are names, checked
// against the rows like everything that comes from outside.
func buttons(rows [][]chat.Button, thread string) []any {
	var out []any
	for _, row := range rows {
		cols := make([]any, 0, len(row))
		for _, b := range row {
			cols = append(cols, column(button(b, thread)))
		}
		out = append(out, object{"tag": "column_set", "flex_mode": "flow", "columns": cols})
	}
	return out
}

func column(el object) object {
	return object{"tag": "column", "width": "auto", "elements": []any{el}}
}

func button(b chat.Button, thread string) object {
	kind := map[string]string{"primary": "primary", "danger": "danger"}[b.Style]
	if kind == "" {
		kind = "default"
	}
	return object{
		"tag": "button", "type": kind, "text": plain(b.Label),
		"behaviors": []any{object{"type": "callback", "value": object{"data": b.Data, "thread": thread}}},
	}
}
