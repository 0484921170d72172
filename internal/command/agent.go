package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// agent is /agent [name [recap]]: which coding agent works here. A change
// replaces the session; a new one can begin with a recap of what was said.
func agent(ctx context.Context, s *Set, c Call) (Result, error) {
	all := s.Agents.List()
	if c.Arg == "" {
		return offerAgents(c, all), nil
	}
	arg, how, _ := strings.Cut(c.Arg, " ")
	how = strings.ToLower(strings.TrimSpace(how))
	name, err := word(arg)
	switch {
	case err != nil:
		return Result{}, err
	case how != "" && how != "recap":
		return failed(chat.Invalid, clip(how))
	}
	i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for n, a := range all {
			names[n] = a.Name
		}
		return unknown(c, "agent_unknown", name, names), nil
	}
	if all[i].unasking() {
		return c.say("agent_unasked", "agent", all[i].Title, "name", name), nil
	}
	was := c.Conv
	if c.Conv.Agent != name {
		c.Conv = c.Conv.Wish(chat.Settings{}) // they were meant for the other agent
		c.Conv.Agent = name
	}
	return change(ctx, s, c, changed{was: was, key: "agent", value: all[i].Title, note: all[i].note(c), recap: how != "", tell: true})
}

// note is a line about an agent that cannot work yet.
func (a Agent) note(c Call) string {
	if a.Ready {
		return ""
	}
	return "\n" + c.text("agent_not_ready", "agent", a.Title, "hint", whyNot(c, a))
}

// whyNot is what is known of the reason why an agent is not ready.
func whyNot(c Call, a Agent) string { return cmp.Or(a.Hint, c.text("agent_no_start")) }

// change stores the wishes in c.Conv and, when the session does not serve
// them, replaces it: by the one in which the conversation last worked with that
// agent in that workspace, else by a new one.
func change(ctx context.Context, s *Set, c Call, what changed) (Result, error) {
	cur, used, err := current(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	if err := s.Conversations.Change(ctx, what.was, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep wishes: %w", err)
	}
	if cur.Serves(c.Conv) {
		text := c.text(what.key+"_already", what.key, what.value) + what.note
		if what.recap && !used {
			return what.recapped(ctx, s, c, 0, text)
		}
		return notice(text + what.late(c)), nil
	}
	switch past, found, err := earlier(ctx, s, c); {
	case err != nil:
		return Result{}, err
	case found:
		return goTo(ctx, s, c, past, c.text(what.key+"_set", what.key, what.value)+what.note+what.late(c)+"\n")
	}
	before, err := replace(ctx, s, &c, "", "")
	if err != nil {
		return Result{}, err
	}
	text := c.text(what.key+"_set", what.key, what.value) + what.note
	if !used { // nothing was said in the earlier session: nothing to return to
		return notice(text), nil
	}
	text += "\n" + c.text("new", "session", c.Conv.Session)
	switch {
	case what.recap:
		return what.recapped(ctx, s, c, before, text)
	case what.tell:
		text += "\n" + c.text("recap_offer", "agent", what.value)
		return replaced(ctx, s, c, before, text, chat.Button{Label: c.text("button_recap"), Data: id("recap", c.Conv.Session)})
	}
	return replaced(ctx, s, c, before, text)
}

// changed is what a conversation works with from now on.
type changed struct {
	was   chat.Conversation
	key   string // of the sentences about it
	value string
	note  string
	recap bool // the new session is to begin with a recap
	tell  bool // a recap is offered
}

// late says of a recap that was asked for that the session can have none.
func (w changed) late(c Call) string {
	if !w.recap {
		return ""
	}
	return "\n" + c.text("recap_late", "agent", c.Conv.Agent)
}

// recapped orders the recap of the session that has just become current.
func (changed) recapped(ctx context.Context, s *Set, c Call, before int64, text string) (Result, error) {
	if err := s.Conversations.Recap(ctx, c.Conv.Session); err != nil {
		return Result{}, fmt.Errorf("order a recap: %w", err)
	}
	return replaced(ctx, s, c, before, text+"\n"+c.text("recap_set"))
}

// earlier finds the session, used last, that would serve the wishes in c.Conv
// if it were current. One in which the agent acts without asking is found by
// the owner only: others begin anew.
func earlier(ctx context.Context, s *Set, c Call) (id int64, found bool, err error) {
	all, err := s.Conversations.Sessions(ctx, c.Conv.ID)
	if err != nil {
		return 0, false, fmt.Errorf("read sessions: %w", err)
	}
	conv := c.Conv
	for _, one := range all {
		if conv.Session = one.ID; !one.Serves(conv) || worker.Unasked(one.Mode) && !c.In.Role.Covers(chat.RoleOwner) {
			continue
		}
		switch _, err := s.Turns.LastTurn(ctx, one.ID); chat.CodeOf(err) {
		case chat.CodeNone:
			return one.ID, true, nil
		case chat.Missing: // nothing was said in it
		default:
			return 0, false, fmt.Errorf("read last turn: %w", err)
		}
	}
	return 0, false, nil
}

func offerAgents(c Call, all []Agent) Result {
	lines := []string{c.text("agent_choose")}
	var rows [][]chat.Button
	for _, a := range all {
		line := fmt.Sprintf("%s (%s)", a.Title, a.Name)
		if a.Name == c.Conv.Agent {
			line += " · " + c.text("session_current")
		}
		if !a.Ready {
			line += " · " + whyNot(c, a)
		}
		lines = append(lines, line)
		if data := "agent:" + a.Name; a.Name != c.Conv.Agent && len(data) <= maxData {
			rows = addButton(rows, 3, chat.Button{Label: a.Title, Data: data})
		}
	}
	return notice(strings.Join(lines, "\n"), rows...)
}

func (s *Set) agentTitle(name string) string {
	for _, a := range s.Agents.List() {
		if a.Name == name && a.Title != "" {
			return a.Title
		}
	}
	return name
}

// unknown says that a name is none of those that there are, and which one may
// have been meant.
func unknown(c Call, key, name string, names []string) Result {
	text := c.text(key, "name", name, "names", strings.Join(names, ", "))
	if near := Nearest(name, names); near != "" {
		text += "\n" + c.text("meant", "name", near)
	}
	return notice(text)
}
