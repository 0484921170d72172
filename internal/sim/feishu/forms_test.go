package feishu

import (
	"slices"
	"strings"
	"testing"
)

func plain(text string) map[string]any { return map[string]any{"tag": "plain_text", "content": text} }

func choices(values ...string) (out []any) {
	for _, v := range values {
		out = append(out, map[string]any{"text": plain("option " + v), "value": v})
	}
	return out
}

func submitting(name string) map[string]any {
	return map[string]any{"tag": "button", "name": name, "text": plain("Send"), "form_action_type": "submit",
		"behaviors": []any{map[string]any{"type": "callback", "value": map[string]any{"data": "x"}}}}
}

// formOf is a form with a button and these elements.
func formOf(els ...any) map[string]any {
	return map[string]any{"tag": "form", "name": "f", "elements": append(els, submitting("go"))}
}

func with(el map[string]any, more map[string]any) map[string]any {
	for k, v := range more {
		el[k] = v
	}
	return el
}

func input(more map[string]any) map[string]any {
	return with(map[string]any{"tag": "input", "name": "i"}, more)
}

func single(more map[string]any) map[string]any {
	return with(map[string]any{"tag": "select_static", "name": "s", "options": choices("1", "2")}, more)
}

func several(more map[string]any) map[string]any {
	return with(map[string]any{"tag": "multi_select_static", "name": "m", "options": choices("1", "2", "3")}, more)
}

func TestFormsAreRefusedAsTheServiceRefusesThem(t *testing.T) {
	t.Parallel()
	fine := formOf(md("a", "x"), input(map[string]any{"placeholder": plain("hint"), "label": plain("l"), "max_length": 5, "default_value": "12345", "input_type": "multiline_text"}),
		single(map[string]any{"initial_index": 2}), several(map[string]any{"selected_values": []any{"1", "3"}, "required": true}))
	if r := start(t).post(direct, "interactive", sheet(false, fine)); code(r) != 0 {
		t.Fatalf("a proper form: %v", r)
	}
	column := func(el any) map[string]any {
		return map[string]any{"tag": "column_set", "columns": []any{map[string]any{"tag": "column", "elements": []any{el}}}}
	}
	long := strings.Repeat("x", 101)
	for name, els := range map[string][]any{
		"no button":                     {map[string]any{"tag": "form", "name": "f", "elements": []any{input(nil)}}},
		"a button that does not submit": {map[string]any{"tag": "form", "name": "f", "elements": []any{with(submitting("go"), map[string]any{"form_action_type": "reset"})}}},
		"inside a column":               {column(formOf())},
		"a form in a form":              {formOf(map[string]any{"tag": "form", "name": "g", "elements": []any{submitting("go2")}})},
		"a table in a form":             {formOf(map[string]any{"tag": "table", "rows": []any{}})},
		"a chart deep in a form":        {formOf(column(map[string]any{"tag": "chart"}))},
		"an unknown action":             {formOf(with(submitting("other"), map[string]any{"form_action_type": "send"}))},
		"an action outside of a form":   {submitting("go")},
		"several, outside of a form":    {several(nil)},
		"required outside of a form":    {single(map[string]any{"required": true})},
		"no options":                    {formOf(single(map[string]any{"options": []any{}}))},
		"a value twice":                 {formOf(single(map[string]any{"options": choices("1", "1")}))},
		"a value that is a number":      {formOf(single(map[string]any{"options": []any{map[string]any{"text": plain("x"), "value": 1}}}))},
		"an option without a text":      {formOf(single(map[string]any{"options": []any{map[string]any{"value": "1"}}}))},
		"an initial index too high":     {formOf(single(map[string]any{"initial_index": 3}))},
		"selected, but no option":       {formOf(several(map[string]any{"selected_values": []any{"4"}}))},
		"selected of one":               {formOf(single(map[string]any{"selected_values": []any{"1"}}))},
		"a placeholder of words":        {formOf(input(map[string]any{"placeholder": "hint"}))},
		"a long placeholder":            {formOf(input(map[string]any{"placeholder": plain(long)}))},
		"a label of a select":           {formOf(single(map[string]any{"label": plain("x")}))},
		"too long an input":             {formOf(input(map[string]any{"max_length": 1001}))},
		"no length":                     {formOf(input(map[string]any{"max_length": 0}))},
		"filled in beyond its length":   {formOf(input(map[string]any{"max_length": 3, "default_value": "1234"}))},
		"an unknown kind of input":      {formOf(input(map[string]any{"input_type": "number"}))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			if r := c.post(direct, "interactive", sheet(false, els...)); code(r) != 230099 {
				t.Errorf("in force: %v", r)
			}
			c.s.Without(RuleForm)
			if r := c.post(direct, "interactive", sheet(false, els...)); code(r) != 0 {
				t.Errorf("switched off: %v", r)
			}
		})
	}
}

func TestNamesAreUniqueInTheWholeCard(t *testing.T) {
	t.Parallel()
	c := start(t)
	second := map[string]any{"tag": "form", "name": "g", "elements": []any{input(nil), submitting("go2")}}
	if r := c.post(direct, "interactive", sheet(false, formOf(input(nil)), second)); code(r) != 230099 {
		t.Errorf("%v", r)
	}
}

func TestAClientSendsWhatTheFormTakes(t *testing.T) {
	t.Parallel()
	c := start(t)
	m := field(c.post(direct, "interactive", sheet(false, formOf(input(map[string]any{"max_length": 5}),
		single(map[string]any{"initial_index": 1}), several(map[string]any{"required": true})))), "message_id")
	for name, values := range map[string]map[string]any{
		"too long":        {"i": "123456", "m": []string{"1"}},
		"no option":       {"s": "3", "m": []string{"1"}},
		"no such thing":   {"z": "1", "m": []string{"1"}},
		"one for several": {"m": "1"},
		"required":        {},
	} {
		if _, err := c.s.Submit(rig, m, anna, "Send", values); err == nil {
			t.Errorf("%s: it is sent", name)
		}
	}
	if _, err := c.s.Submit(rig, m, anna, "Sent", nil); err == nil {
		t.Error("a button that is not there was pressed")
	}
	sent, err := fill(c.s.cardOf(m), "f", map[string]any{"m": []string{"3"}})
	if err != nil || sent["s"] != "1" || sent["i"] != "" || !slices.Equal(sent["m"].([]string), []string{"3"}) {
		t.Errorf("%v, %v", sent, err)
	}
	seen := c.s.Shown(direct)[0].Buttons
	if len(seen) != 4 || seen[1].Filled != "1" || seen[1].Labels[1] != "option 2" || seen[0].Form != "f" {
		t.Errorf("%+v", seen)
	}
}
