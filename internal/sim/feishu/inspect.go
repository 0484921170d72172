package feishu

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// finding is what is wrong with a card.
type finding struct {
	code int
	msg  string
}

func wrong(code int, format string, args ...any) *finding {
	return &finding{code, fmt.Sprintf(format, args...)}
}

// containers are the tags that hold elements, and under which key.
var containers = map[string]string{
	"form": "elements", "collapsible_panel": "elements", "interactive_container": "elements", "column": "elements", "column_set": "columns",
}

// leaves are the other tags of card JSON 2.0.
var leaves = []string{"markdown", "div", "hr", "img", "table", "button", "input", "select_static", "multi_select_static", "checker",
	"overflow", "plain_text", "standard_icon", "lark_md", "date_picker", "picker_time", "select_person", "person", "person_list", "chart"}

// gone are tags of the first schema.
var gone = []string{"note", "action"}

// inspector looks at a whole card.
type inspector struct {
	s        *Server
	chat     *chatState // nil = not known yet
	elements int
	tables   int
	ids      map[string]bool
	names    map[string]bool
}

// inspect reports the first thing that the service would refuse.
func (s *Server) inspect(root map[string]any, chat *chatState) *finding {
	in := &inspector{s: s, chat: chat, ids: map[string]bool{}, names: map[string]bool{}}
	if root["schema"] != "2.0" {
		if s.on(RuleSchema) {
			return wrong(200621, "parse card json err: schema is not 2.0")
		}
		return nil
	}
	cfg, _ := root["config"].(map[string]any)
	if multi, ok := cfg["update_multi"].(bool); ok && !multi && s.on(RuleSchema) {
		return wrong(300302, "update_multi must be true in schema 2.0")
	}
	if header, ok := root["header"].(map[string]any); ok {
		if f := in.header(header); f != nil {
			return f
		}
	}
	body, ok := root["body"].(map[string]any)
	list, ok2 := body["elements"].([]any)
	if (!ok || !ok2) && s.on(RuleSchema) {
		return wrong(200621, "parse card json err: body.elements is missing")
	}
	if f := in.list(list, 1, ""); f != nil {
		return f
	}
	switch {
	case in.elements > maxElements && s.on(RuleElements):
		return wrong(300305, "element exceeds the limit")
	case in.tables > maxTables && s.on(RuleTables):
		return wrong(11310, "card table number over limit")
	}
	return nil
}

func (in *inspector) header(h map[string]any) *finding {
	title, _ := h["title"].(map[string]any)
	if title["tag"] != "plain_text" && title["tag"] != "lark_md" && in.s.on(RuleSchema) {
		return wrong(200621, "parse card json err: header.title")
	}
	in.elements += 2
	return nil
}

func (in *inspector) list(list []any, depth int, form string) *finding {
	if depth > maxDepth && in.s.on(RuleElements) {
		return wrong(300305, "elements are nested too deep")
	}
	for _, x := range list {
		el, ok := x.(map[string]any)
		if !ok {
			return wrong(200621, "parse card json err: an element is no object")
		}
		if f := in.element(el, depth, form); f != nil {
			return f
		}
	}
	return nil
}

func (in *inspector) element(el map[string]any, depth int, form string) *finding {
	s := in.s
	tag, _ := el["tag"].(string)
	in.elements++
	if f := in.identity(el, tag, form); f != nil {
		return f
	}
	key, holds := containers[tag]
	switch {
	case slices.Contains(gone, tag):
		if s.on(RuleSchema) {
			return wrong(200861, "cards of schema V2 no longer support this capability; unsupported tag %s", tag)
		}
	case !holds && !slices.Contains(leaves, tag):
		if s.on(RuleSchema) {
			return wrong(200621, "parse card json err: unknown tag %q", tag)
		}
	case tag == "markdown" || tag == "lark_md":
		text, _ := el["content"].(string)
		return in.markdown(text)
	case tag == "table":
		in.tables++
	case tag == "img":
		k, _ := el["img_key"].(string)
		if _, ok := s.world.images[k]; !ok && s.on(RuleImages) {
			return wrong(200570, "image key is invalid")
		}
	case tag == "button":
		return in.button(el, form)
	case slices.Contains(fillable, tag):
		if f := in.component(el, tag, form); f != nil {
			return f
		}
	}
	if text, ok := el["text"].(map[string]any); ok && tag == "div" {
		if f := in.element(text, depth, form); f != nil {
			return f
		}
	}
	if !holds {
		return nil
	}
	if tag == "form" {
		if f := in.form(el, depth); f != nil {
			return f
		}
		form, _ = el["name"].(string)
	}
	if h, ok := el["header"].(map[string]any); ok {
		if t, ok := h["title"].(map[string]any); ok {
			if f := in.element(t, depth, form); f != nil {
				return f
			}
		}
	}
	inner, _ := el[key].([]any)
	return in.list(inner, depth+1, form)
}

// elementID is the form of an element's id. That a wrong one is refused with
// this code is assumed.
var elementID = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,19}$`)

// identity checks ids, and the names of what belongs to a form.
func (in *inspector) identity(el map[string]any, tag, form string) *finding {
	if id, ok := el["element_id"].(string); ok && in.s.on(RuleElementID) {
		if !elementID.MatchString(id) {
			return wrong(300301, "element_id %q is invalid", id)
		}
		if in.ids[id] {
			return wrong(300301, "element_id %q is duplicated", id)
		}
		in.ids[id] = true
	}
	name, _ := el["name"].(string)
	if form == "" || !in.s.on(RuleCallback) || !slices.Contains([]string{"input", "select_static", "multi_select_static", "checker", "button"}, tag) {
		return nil
	}
	switch {
	case name == "":
		return wrong(200621, "parse card json err: %s in a form needs a name", tag)
	case in.names[name]:
		return wrong(200621, "parse card json err: name %q is duplicated", name)
	}
	in.names[name] = true
	return nil
}

func (in *inspector) button(el map[string]any, form string) *finding {
	text, _ := el["text"].(map[string]any)
	label, _ := text["content"].(string)
	in.elements++
	if strings.TrimSpace(label) == "" && in.s.on(RuleSchema) {
		return wrong(200621, "parse card json err: a button needs a text")
	}
	if kind, ok := el["form_action_type"]; ok && in.s.on(RuleForm) && (form == "" || kind != "submit" && kind != "reset") {
		return wrong(200621, "parse card json err: form_action_type %v", kind)
	}
	list, _ := el["behaviors"].([]any)
	for _, b := range list {
		one, _ := b.(map[string]any)
		if one["type"] == "open_url" && in.s.on(RuleLinks) {
			if url, _ := one["default_url"].(string); !safeLink(url) {
				return wrong(230001, "invalid href")
			}
		}
	}
	return nil
}

var (
	mdLink  = regexp.MustCompile(`(!?)\[[^\]]*\]\(([^)\s]*)[^)]*\)`)
	mdAt    = regexp.MustCompile(`<at\s+(?:id|ids|user_id|email)=["']?([^"'>\s]*)["']?[^>]*>`)
	mdTable = regexp.MustCompile(`(?m)^\s*\|?(\s*:?-{3,}:?\s*\|)+\s*(:?-{3,}:?)?\s*$`)
	mdFence = regexp.MustCompile("(?ms)^\\s*(```|~~~).*?^\\s*(```|~~~)\\s*$")
	mdCode  = regexp.MustCompile("`[^`\n]+`")
)

// markdown checks the text of a component.
func (in *inspector) markdown(text string) *finding {
	plain := mdCode.ReplaceAllString(mdFence.ReplaceAllString(text, ""), "")
	in.tables += len(mdTable.FindAllString(plain, -1))
	for _, m := range mdLink.FindAllStringSubmatch(plain, -1) {
		if m[1] == "!" {
			if _, ok := in.s.world.images[m[2]]; !ok && in.s.on(RuleImages) {
				return wrong(200570, "image key is invalid")
			}
			continue
		}
		if in.s.on(RuleLinks) && !safeLink(m[2]) {
			return wrong(230001, "invalid href")
		}
	}
	for _, m := range mdAt.FindAllStringSubmatch(plain, -1) {
		if in.s.on(RuleMention) && (in.chat == nil || !slices.Contains(in.chat.people, m[1])) {
			return wrong(100290, "at user is invalid")
		}
	}
	return nil
}

func safeLink(url string) bool {
	for _, p := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(strings.ToLower(url), p); ok {
			return rest != "" && !strings.HasPrefix(rest, "/")
		}
	}
	return false
}

// walk visits every element; visit returns false to stop.
func walk(root map[string]any, visit func(el map[string]any, form string) bool) {
	body, _ := root["body"].(map[string]any)
	list, _ := body["elements"].([]any)
	var down func(list []any, form string) bool
	down = func(list []any, form string) bool {
		for _, x := range list {
			el, _ := x.(map[string]any)
			if !visit(el, form) {
				return false
			}
			inner := form
			if el["tag"] == "form" {
				inner, _ = el["name"].(string)
			}
			tag, _ := el["tag"].(string)
			if sub, ok := el[containers[tag]].([]any); ok && !down(sub, inner) {
				return false
			}
		}
		return true
	}
	down(list, "")
}

// find is the element with an id.
func find(root map[string]any, id string) (found map[string]any) {
	walk(root, func(el map[string]any, _ string) bool {
		if el["element_id"] == id {
			found = el
		}
		return found == nil
	})
	return found
}

// insert puts elements beside a target, or at the end.
func insert(root map[string]any, how, target string, list []any) bool {
	body, _ := root["body"].(map[string]any)
	all, _ := body["elements"].([]any)
	if how == "append" && target == "" {
		body["elements"] = append(all, list...)
		return true
	}
	for i, x := range all {
		el, _ := x.(map[string]any)
		if el["element_id"] != target {
			continue
		}
		switch how {
		case "insert_before":
			body["elements"] = slices.Insert(slices.Clone(all), i, list...)
		case "insert_after":
			body["elements"] = slices.Insert(slices.Clone(all), i+1, list...)
		case "append":
			inner, _ := el["elements"].([]any)
			el["elements"] = append(inner, list...)
		default:
			return false
		}
		return true
	}
	return false
}

// remove takes the element with an id out of the card's first level, or out of
// a container of it.
func remove(root map[string]any, id string) bool {
	body, _ := root["body"].(map[string]any)
	is := func(x any) bool { el, _ := x.(map[string]any); return el["element_id"] == id }
	all, _ := body["elements"].([]any)
	if slices.ContainsFunc(all, is) {
		body["elements"] = slices.DeleteFunc(slices.Clone(all), is)
		return true
	}
	done := false
	walk(root, func(el map[string]any, _ string) bool {
		tag, _ := el["tag"].(string)
		key := containers[tag]
		if inner, ok := el[key].([]any); ok && slices.ContainsFunc(inner, is) {
			el[key], done = slices.DeleteFunc(slices.Clone(inner), is), true
		}
		return !done
	})
	return done
}

// readable is what a person reads on a card, and what can be pressed there.
func readable(root map[string]any) (string, []Control) {
	var lines []string
	var controls []Control
	add := func(v any) {
		m, _ := v.(map[string]any)
		if t, _ := m["content"].(string); t != "" {
			lines = append(lines, t)
		}
	}
	if h, ok := root["header"].(map[string]any); ok {
		add(h["title"])
		add(h["subtitle"])
	}
	walk(root, func(el map[string]any, form string) bool {
		switch tag, _ := el["tag"].(string); tag {
		case "markdown", "plain_text":
			add(el)
		case "div":
			add(el["text"])
		case "collapsible_panel":
			h, _ := el["header"].(map[string]any)
			add(h["title"])
		case "table":
			raw, _ := json.Marshal(el["rows"])
			lines = append(lines, string(raw))
		case "button", "input", "select_static", "multi_select_static", "checker":
			controls = append(controls, control(el, tag, form))
		}
		return true
	})
	return strings.Join(lines, "\n"), controls
}

func control(el map[string]any, tag, form string) Control {
	c := Control{Tag: tag, Form: form}
	c.Name, _ = el["name"].(string)
	c.Disabled, _ = el["disabled"].(bool)
	text, _ := el["text"].(map[string]any)
	c.Label, _ = text["content"].(string)
	list, _ := el["behaviors"].([]any)
	for _, b := range list {
		one, _ := b.(map[string]any)
		if one["type"] == "callback" {
			c.Value, _ = one["value"].(map[string]any)
		}
	}
	if v, ok := el["value"].(map[string]any); ok && c.Value == nil {
		c.Value = v
	}
	options, _ := el["options"].([]any)
	for _, o := range options {
		one, _ := o.(map[string]any)
		v, _ := one["value"].(string)
		text, _ := plainText(one["text"])
		c.Options, c.Labels = append(c.Options, v), append(c.Labels, text)
	}
	if slices.Contains(fillable, tag) {
		c.Filled = filled(el)
		if c.Label, _ = plainText(el["label"]); c.Label == "" {
			c.Label, _ = plainText(el["placeholder"])
		}
	}
	return c
}
