package acp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// settings are those of a session: what they may be and what they are.
type settings struct {
	mu    sync.Mutex
	menus menus
	now   inUse
}

// inUse are the settings in use, by the agent's names.
type inUse struct{ mode, model, effort string }

// describe puts them into what is said of the agent.
func (s *settings) describe(i *worker.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.menus
	i.Model, i.Mode, i.Effort = m.models.look(s.now.model), m.modes.look(s.now.mode), m.efforts.look(s.now.effort)
	i.Models, i.Modes, i.Efforts = m.models.list(), m.modes.list(), m.efforts.list()
}

// window is the context window of the model in use in tokens, 0 when the agent
// does not tell it with its models.
func (s *settings) window() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus.windows[s.now.model]
}

// own reports whether a model is the word for the agent's own choice.
func (s *settings) own(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus.own(model)
}

// asking is the mode to begin in where nobody chose one.
func (s *settings) asking() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menus.asks(s.now.mode)
}

// change notes what is in use now.
func (s *settings) change(to func(*inUse), options []configOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to != nil {
		to(&s.now)
	}
	s.learnOptions(options)
}

// learn takes in what an answer says about modes, models and options.
func (s *settings) learn(o opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// learnOptions takes in configuration options, the newer form of modes and
// models, and the only one of efforts. s.mu is held.
func (s *settings) learnOptions(options []configOption) {
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

// change is one call that changes a setting.
type change struct {
	method string
	set    setting
	code   chat.Code // of a refusal
	what   string    // was wished for
	done   func(*inUse)
}

// modeChange is the call that changes the mode.
func (s *settings) modeChange(wish string) (change, error) {
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
func (s *settings) modelChange(wish string) (change, error) {
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
func (s *settings) effortChange(wish string) (change, error) {
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
	s.settings.change(c.done, o.Options)
	return nil
}

// Set changes model, mode and effort of the live session. What the agent does
// not offer costs nothing: it is found out before anything is changed.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	has := &w.session.settings
	applied, wishes := chat.AppliedNow, []struct {
		wish   string
		change func(string) (change, error)
	}{{s.Mode, has.modeChange}, {s.Model, has.modelChange}, {s.Effort, has.effortChange}}
	if has.own(s.Model) { // a session without a wish has it
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
