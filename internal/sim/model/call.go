package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// call is a request without its wire format: what the model is told, and what
// it may do.
type call struct {
	model   string
	stream  bool
	usage   bool // wanted at the end of a stream, where that is a choice
	entries []entry
	tools   []tool
	// form is the JSON schema that the answer must follow; nil = free text.
	form *schema
	// images and documents is how many of them the whole conversation holds.
	images, documents int
	texts             []string // what either side said, with the client's words
	last              string   // the last text of the user's side, with the client's words
	// system is what the client tells the model on its own account.
	system string
	size   int // bytes of the body
}

// entry is one thing that the model is told, oldest first.
type entry struct {
	text   string
	result bool // what a tool gave back, not what the user wrote
	notice bool // a client's own message about a background task
}

// said adds a text of the user's side, as far as it is the user's own.
func (c *call) said(text string) {
	c.texts, c.last = append(c.texts, text), text
	switch {
	case continuation(text):
		c.entries = append(c.entries, entry{text: goOn})
	case strings.Contains(text, "<task-notification>"):
		c.entries = append(c.entries, entry{text: text, notice: true})
	default:
		mine := own(text)
		if mine == "" {
			c.system += text + "\n"
			return
		}
		c.entries = append(c.entries, entry{text: mine})
	}
}

// answered adds a text of the model's own.
func (c *call) answered(text string) { c.texts = append(c.texts, text) }

// gave adds a tool's result.
func (c *call) gave(text string) {
	c.entries = append(c.entries, entry{text: text, result: true})
}

// seen counts an image or a document by its media type.
func (c *call) seen(media string) {
	if strings.HasPrefix(media, "image/") {
		c.images++
	} else {
		c.documents++
	}
}

// users returns the user's own texts, oldest first; at least one.
func (c *call) users() []string {
	var out []string
	for _, e := range c.entries {
		if !e.result && !e.notice {
			out = append(out, e.text)
		}
	}
	if len(out) == 0 {
		out = append(out, "say nothing was asked")
	}
	return out
}

// results returns the tool results that came after the last own user text,
// and whether a background task's notice came last.
func (c *call) results() (results []string, notified bool) {
	for _, e := range c.entries {
		switch {
		case e.result:
			results = append(results, e.text)
		case e.notice:
			notified = true
		default:
			results, notified = nil, false
		}
	}
	return results, notified
}

func (c *call) toolNames() []string {
	names := make([]string, 0, len(c.tools))
	for _, t := range c.tools {
		names = append(names, t.name)
	}
	return names
}

// tool returns the first of the offered tools that has one of these names.
func (c *call) tool(names []string) (tool, bool) {
	for _, n := range names {
		if t, ok := c.only(n); ok {
			return t, true
		}
	}
	for _, n := range names { // a name may be a part of an offered one's
		if _, ok := c.only(deferring); ok && strings.Contains(c.system, n) {
			return tool{name: deferring, deferred: n}, true
		}
	}
	return tool{}, false
}

func (c *call) only(name string) (tool, bool) {
	i := slices.IndexFunc(c.tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, false
	}
	return c.tools[i], true
}

// deferring is Qwen Code's tool that calls tools which are only named to the
// model, not described.
const deferring = "tool_call"

// tokens is a rough number of input tokens.
func (c *call) tokens() int { return 1 + c.size/4 }

// tool is something that the model may call.
type tool struct {
	name     string
	space    string  // a namespace that the name belongs to
	deferred string  // the tool that this one is to call
	custom   bool    // it takes a text instead of arguments
	schema   *schema // of its arguments; nil = anything goes
}

func newTool(name string, params json.RawMessage) tool {
	return tool{name: name, schema: readSchema(params)}
}
