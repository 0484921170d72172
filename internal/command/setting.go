package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// defaultName is the word for the agent's own choice, unless the agent calls
// one of its own choices so.
const defaultName = "default"

// patience bounds what a command asks of a live process, or of an agent's own
// files: the router's other conversations wait meanwhile.
const patience = 2 * time.Second

// setting is one thing that /model, /mode and /effort change. Its name is the
// beginning of the keys of its texts.
type setting struct {
	name chat.Setting
	need worker.Ability // to change it in a session that has begun
}

// The settings of a conversation.
func modelSetting() setting  { return setting{"model", worker.Models} }
func modeSetting() setting   { return setting{"mode", worker.Modes} }
func effortSetting() setting { return setting{"effort", worker.Efforts} }

// of returns what a live agent runs with, and what it offers.
func (p setting) of(i worker.Info) (value string, offered []string) {
	switch p.name {
	case chat.SettingModel:
		return i.Model, i.Models
	case chat.SettingMode:
		return i.Mode, i.Modes
	case chat.SettingEffort:
		return i.Effort, i.Efforts
	}
	return "", nil
}

// offered are the names that the agent offers, as far as is known.
func (p setting) offered(s *Set, c Call) []string {
	if i, ok := s.Workers.Live(c.Conv.Session); ok {
		if _, names := p.of(i); len(names) > 0 {
			return names
		}
	}
	_, names := p.of(s.agent(c.Conv.Agent).Info)
	return names
}

// now is what the conversation runs with: what its agent says, and what was
// wished for, where that is something else.
func (p setting) now(s *Set, c Call) string {
	seen := ""
	if i, ok := s.Workers.Live(c.Conv.Session); ok {
		seen, _ = p.of(i)
	}
	wish := c.Conv.Wishes().Or(s.agent(c.Conv.Agent).Defaults).Get(p.name)
	switch {
	case seen == "" && wish == "":
		return c.text("setting_default")
	case seen == "":
		return wish
	case wish == "", wish == defaultName, strings.Contains(seen, wish): // an alias of it
		return seen
	}
	return c.text("setting_wanted", "now", seen, "wanted", wish)
}

// run is the command: without a name it offers the choice. The session is kept
// unless its agent cannot change the setting of one that has begun.
func (p setting) run(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return p.offer(s, c), nil
	}
	name, err := word(c.Arg)
	if err != nil {
		return Result{}, err
	}
	value := name
	offered := p.offered(s, c)
	if name == defaultName && !slices.Contains(offered, name) {
		value = ""
	}
	if r, ok := p.refuse(s, c, value, offered); ok {
		return r, nil
	}
	was := c.Conv
	c.Conv = c.Conv.Wish(c.Conv.Wishes().With(p.name, value))
	if p.fixed(s, c) && value != "" {
		return p.replace(ctx, s, c, was, name)
	}
	applied, err := p.apply(ctx, s, c, was, value)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Unsupported:
		if p.name != chat.SettingModel || len(offered) == 0 { // nor would a new session take it
			return p.cannot(s, c), nil
		}
		return p.replace(ctx, s, c, was, name)
	case chat.ModelUnknown, chat.Invalid:
		return unknown(c, string(p.name)+"_unknown", name, offered), nil
	default:
		return Result{}, fmt.Errorf("set the %s: %w", p.name, err)
	}
	r := c.say(string(p.name)+"_set", string(p.name), name, "when", c.text("applies_"+string(applied)))
	if more := p.unsure(s, c, value, offered); more != "" {
		r.Replies[0].Markdown += "\n" + more
	}
	return r, nil
}

// unsure says that a model is one that nobody has heard of so far; empty when
// it is known to be one.
func (p setting) unsure(s *Set, c Call, value string, offered []string) string {
	if p.name != chat.SettingModel || value == "" || slices.Contains(offered, value) {
		return ""
	}
	text := c.text("model_unsure", "agent", s.agentTitle(c.Conv.Agent))
	if len(offered) > 0 {
		text += "\n" + c.text("model_listed", "names", strings.Join(offered, ", "))
	}
	if near := Nearest(value, offered); near != "" {
		text += "\n" + c.text("meant", "name", near)
	}
	return text
}

// refuse says why a value is not even tried.
func (p setting) refuse(s *Set, c Call, value string, offered []string) (Result, bool) {
	a := s.agent(c.Conv.Agent)
	if p.name == chat.SettingMode && worker.Unasked(value) {
		switch {
		case !a.Unattended:
			return c.say("mode_not_allowed", "mode", value, "agent", a.Title, "name", a.Name), true
		case !c.In.Role.Covers(chat.RoleOwner):
			return c.say("mode_owner", "mode", value, "agent", a.Title), true
		}
	}
	if value == "" {
		return Result{}, false
	}
	if p.fixed(s, c) && (p.name != chat.SettingModel || len(offered) == 0) {
		return p.cannot(s, c), true
	}
	// Models have more names than are listed; modes and efforts have not.
	if p.name != chat.SettingModel && len(offered) > 0 && !slices.Contains(offered, value) {
		return unknown(c, string(p.name)+"_unknown", value, offered), true
	}
	return Result{}, false
}

// fixed reports whether the agent is known not to change the setting of a
// session.
func (p setting) fixed(s *Set, c Call) bool {
	a := s.agent(c.Conv.Agent)
	return len(a.Can) > 0 && !a.Can.Has(p.need)
}

func (p setting) cannot(s *Set, c Call) Result {
	return c.say(string(p.name)+"_fixed", "agent", s.agentTitle(c.Conv.Agent))
}

// apply stores the setting, and tells the session's worker, if there is one.
func (p setting) apply(ctx context.Context, s *Set, c Call, was chat.Conversation, value string) (chat.Applied, error) {
	if c.Conv.Session == 0 {
		return chat.AppliedNext, s.Conversations.Change(ctx, was, c.Conv)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Workers.Set(ctx, c.Conv.Session, p.name, value)
}

// replace gives the conversation a new session: its agent cannot change the
// model of one that has begun.
func (p setting) replace(ctx context.Context, s *Set, c Call, was chat.Conversation, name string) (Result, error) {
	if err := s.Conversations.Change(ctx, was, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep wishes: %w", err)
	}
	before, err := replace(ctx, s, &c, "", "")
	if err != nil {
		return Result{}, err
	}
	text := c.text("model_replaced", "model", name) + "\n" + c.text("new", "session", c.Conv.Session)
	return replaced(ctx, s, c, before, text)
}

// offer shows what is chosen and what can be.
func (p setting) offer(s *Set, c Call) Result {
	lines := []string{c.text(string(p.name)+"_now", string(p.name), p.now(s, c))}
	names := slices.DeleteFunc(slices.Clone(p.offered(s, c)), func(n string) bool {
		_, no := p.refuse(s, c, n, nil)
		return no && p.name == chat.SettingMode && worker.Unasked(n)
	})
	switch {
	case p.fixed(s, c) && (p.name != chat.SettingModel || len(names) == 0):
		return notice(lines[0] + "\n" + c.text(string(p.name)+"_only", "agent", s.agentTitle(c.Conv.Agent)))
	case len(names) == 0:
		var rows [][]chat.Button
		if c.Conv.Wishes().Get(p.name) != "" { // what was chosen can be left all the same
			rows = addButton(rows, 2, chat.Button{Label: defaultName, Data: string(p.name) + ":" + defaultName})
		}
		return notice(lines[0]+"\n"+c.text("setting_none", "name", string(p.name)), rows...)
	}
	lines = append(lines, c.text("setting_choose", "name", string(p.name)), strings.Join(names, ", "))
	var rows [][]chat.Button
	if !slices.Contains(names, defaultName) {
		names = append(names, defaultName)
	}
	for _, n := range names {
		if data := string(p.name) + ":" + n; len(data) <= maxData && argRule.MatchString(n) {
			rows = addButton(rows, 2, chat.Button{Label: clip(n), Data: data})
		}
	}
	return notice(strings.Join(lines, "\n"), rows...)
}

// agent is what is known about a configured agent; only the name, when it is
// not configured any more.
func (s *Set) agent(name string) Agent {
	for _, a := range s.Agents.List() {
		if a.Name == name {
			a.Title = cmp.Or(a.Title, name)
			return a
		}
	}
	return Agent{Name: name, Title: name}
}
