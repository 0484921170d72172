package acp

import (
	"regexp"
	"slices"
	"strings"

	"cligate/internal/worker"
)

// choice is a value of a setting: what the agent calls it, and its name for
// people. In Quirks it is an option of the agent's and the value to set.
type choice struct{ ID, Name string }

// menu is what a setting may be. Empty = the agent told nothing.
type menu []choice

// plain is how an id looks that people can type.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)

// shown is how people see a choice. Some agents name modes by an address, of
// which the end is the name, and models by more than anybody could type.
func (m menu) shown(c choice) string {
	if i := strings.LastIndexByte(c.ID, '#'); i >= 0 && strings.Contains(c.ID, "://") && c.ID[i+1:] != "" {
		return c.ID[i+1:]
	}
	if !plain.MatchString(c.ID) && c.Name != "" && m.named(c.Name) == 1 {
		return c.Name
	}
	return c.ID
}

// named is how many have that name.
func (m menu) named(name string) (n int) {
	for _, c := range m {
		if c.Name == name {
			n++
		}
	}
	return n
}

// list is the menu as people see it.
func (m menu) list() (out []string) {
	for _, c := range m {
		out = append(out, m.shown(c))
	}
	return out
}

// find returns the agent's name for what a person wishes. Of a menu that
// nobody knows everything is tried.
func (m menu) find(wish string) (id string, ok bool) {
	for _, c := range m {
		if c.ID == wish || m.shown(c) == wish {
			return c.ID, true
		}
	}
	return wish, len(m) == 0
}

// look is how people see the agent's name for something.
func (m menu) look(id string) string {
	for _, c := range m {
		if c.ID == id {
			return m.shown(c)
		}
	}
	return m.shown(choice{ID: id})
}

// with adds a choice, once.
func (m menu) with(c choice) menu {
	if c.ID == "" || slices.ContainsFunc(m, func(x choice) bool { return x.ID == c.ID }) {
		return m
	}
	return append(m, c)
}

// menus are what the agent offers, and how it takes a change.
type menus struct {
	modes, models, efforts menu
	setMode, setModel      bool // by the protocol's own methods
	// mode, model and effort are the configuration options that change them.
	mode, model, effort string
	windows             map[string]int64 // context window in tokens, by model
}

// asks is the mode to begin in where nobody chose one: the plain one, or one in
// which nothing is changed; else the agent's own, if that asks, or the first
// that does. Names tell who asks nobody; that one like "agent" asks they do not
// tell. Empty = the agent offers none.
func (m *menus) asks(current string) string {
	if len(m.modes) == 0 {
		return ""
	}
	for _, safe := range []string{"default", "read-only"} {
		for _, c := range m.modes {
			if m.modes.shown(c) == safe {
				return c.ID
			}
		}
	}
	if current != "" && !worker.Unasked(current) {
		return current
	}
	for _, c := range m.modes {
		if !worker.Unasked(c.ID) {
			return c.ID
		}
	}
	return current
}

// own reports whether a model is the word for the agent's own choice, which
// few agents know as a name.
func (m *menus) own(model string) bool {
	_, listed := m.models.find(model)
	return model == "default" && (!listed || len(m.models) == 0)
}
