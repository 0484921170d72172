package acp

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"cligate/internal/chat"
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

// menus are what the agent offers, and how it takes a change.
type menus struct {
	modes, models, efforts menu
	setMode, setModel      bool // by the protocol's own methods
	// mode, model and effort are the configuration options that change them.
	mode, model, effort string
	windows             map[string]int64 // context window in tokens, by model
}

// learn takes in what an answer says about modes, models and options. s.mu is
// held.
func (s *session) learn(o opened) {
	m := &s.menus
	for _, x := range o.Modes.Available {
		m.modes = m.modes.with(choice{x.ID, x.Name})
	}
	for _, x := range o.Models.Available {
		m.models = m.models.with(choice{x.Model, x.Name})
		if x.Meta.Window > 0 && m.windows == nil {
			m.windows = map[string]int64{}
		}
		if x.Meta.Window > 0 {
			m.windows[x.Model] = x.Meta.Window
		}
	}
	m.setMode, m.setModel = len(o.Modes.Available) > 0, len(o.Models.Available) > 0
	if id := o.Modes.Current; id != "" {
		s.now.mode = id
	}
	if id := o.Models.Current; id != "" {
		s.now.model = id
	}
	s.learnOptions(o.Options)
}

// with adds a choice, once.
func (m menu) with(c choice) menu {
	if c.ID == "" || slices.ContainsFunc(m, func(x choice) bool { return x.ID == c.ID }) {
		return m
	}
	return append(m, c)
}

// learnOptions takes in configuration options, the newer form of modes and
// models, and the only one of efforts. s.mu is held.
func (s *session) learnOptions(options []configOption) {
	m := &s.menus
	for _, o := range options {
		current, _ := o.Current.(string)
		values := o.values()
		switch {
		case o.is("mode", "mode"):
			m.mode = o.ID
			fill(&m.modes, values, m.setMode)
			set(&s.now.mode, current)
		case o.is("model", "model"):
			m.model = o.ID
			fill(&m.models, values, m.setModel)
			set(&s.now.model, current)
		case o.is("thought_level", "thought_level", "effort", "reasoning_effort"):
			m.effort = o.ID
			fill(&m.efforts, values, false)
			set(&s.now.effort, current)
		}
	}
}

// is reports whether an option belongs to a category, or has a name that does.
func (o configOption) is(category string, names ...string) bool {
	return o.Category == category || o.Category == "" && slices.Contains(names, o.ID)
}

func fill(m *menu, values []choice, known bool) {
	if !known && len(values) > 0 {
		*m = values
	}
}

func set(v *string, current string) {
	if current != "" {
		*v = current
	}
}

// asks is the mode to begin in where nobody chose one: the agent's own, if
// that asks; else the plain one, or the first that asks. Empty = the agent
// offers none.
func (m *menus) asks(current string) string {
	switch {
	case len(m.modes) == 0:
		return ""
	case current != "" && !worker.Unasked(current):
		return current
	}
	for _, c := range m.modes {
		if m.modes.shown(c) == "default" {
			return c.ID
		}
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

// change is one call that changes a setting.
type change struct {
	method string
	set    setting
	code   chat.Code // of a refusal
	what   string    // was wished for
	done   func(*inUse)
}

// inUse are the settings in use, by the agent's names.
type inUse struct{ mode, model, effort string }

// modeChange is the call that changes the mode.
func (s *session) modeChange(wish string) (change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.menus.modes.find(wish)
	c := change{code: chat.Invalid, what: "mode " + wish, done: func(v *inUse) { v.mode = id }}
	if !ok {
		return c, chat.E(chat.Invalid, c.what, errors.New("the agent offers no such mode"))
	}
	c.method, c.set.Mode = "session/set_mode", id
	if o := s.menus.mode; o != "" && !s.menus.setMode {
		c.method, c.set = "session/set_config_option", setting{Option: o, Value: id}
	}
	return c, nil
}

// modelChange is the call that changes the model. The session keeps its
// context.
func (s *session) modelChange(wish string) (change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.menus.models.find(wish)
	c := change{code: chat.ModelUnknown, what: wish, done: func(v *inUse) { v.model = id }}
	switch {
	case !s.menus.setModel && s.menus.model == "":
		return c, chat.E(chat.Unsupported, "", errors.New("the agent offers no models"))
	case !ok:
		return c, chat.E(chat.ModelUnknown, wish, errors.New("the agent offers no such model"))
	case s.menus.setModel:
		c.method, c.set.Model = "session/set_model", id
	default:
		c.method, c.set = "session/set_config_option", setting{Option: s.menus.model, Value: id}
	}
	return c, nil
}

// effortChange is the call that changes the reasoning effort.
func (s *session) effortChange(wish string) (change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.menus.efforts.find(wish)
	c := change{
		method: "session/set_config_option", set: setting{Option: s.menus.effort, Value: id},
		code: chat.Invalid, what: "effort " + wish, done: func(v *inUse) { v.effort = id },
	}
	switch {
	case s.menus.effort == "":
		return c, chat.E(chat.Unsupported, "", errors.New("the agent offers no efforts"))
	case !ok:
		return c, chat.E(chat.Invalid, c.what, errors.New("the agent offers no such effort"))
	}
	return c, nil
}

// apply carries a change out.
func (s *session) apply(ctx context.Context, c change) error {
	limit, cancel := context.WithTimeoutCause(ctx, s.cfg.CallTimeout, errLate)
	defer cancel()
	c.set.SessionID = s.id()
	raw, err := s.conn.call(limit, c.method, c.set)
	if err != nil {
		return s.setError(ctx, err, c.code, c.what)
	}
	o, _ := decode[opened](raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.done != nil {
		c.done(&s.now)
	}
	s.learnOptions(o.Options)
	return nil
}

// Set changes model, mode and effort of the live session. What the agent does
// not offer costs nothing: it is found out before anything is changed.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	applied, wishes := chat.AppliedNow, []struct {
		wish   string
		change func(string) (change, error)
	}{{s.Mode, w.session.modeChange}, {s.Model, w.session.modelChange}, {s.Effort, w.session.effortChange}}
	if w.session.ownModel(s.Model) { // a session without a wish has it
		applied, wishes[1].wish = chat.AppliedReopen, ""
	}
	var changes []change
	for _, x := range wishes {
		if x.wish == "" {
			continue
		}
		c, err := x.change(x.wish)
		if err != nil {
			return "", err
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		if err := w.session.apply(ctx, c); err != nil {
			return "", err
		}
	}
	return applied, nil
}
