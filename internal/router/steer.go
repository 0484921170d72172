package router

import (
	"cmp"
	"context"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/i18n"
)

// Takes reports whether a turn runs in a session whose agent takes words while
// it works.
func (d *desk) Takes(session int64) bool { return giver{d}.able(session, command.Agent.Steers) }

// Replaces reports whether a turn runs in a session whose agent drops what it
// does for other words.
func (d *desk) Replaces(session int64) bool { return giver{d}.able(session, command.Agent.Replaces) }

// giver hands words to running turns.
type giver struct{ *desk }

// able reports whether a turn runs in a session whose agent can do something.
func (d giver) able(session int64, can func(command.Agent) bool) bool {
	turn, _ := d.lanes.at(session)
	if turn == 0 {
		return false
	}
	t, err := d.Turns.TurnByID(d.lanes.ctx, turn)
	if err != nil {
		return false
	}
	s, err := d.Conversations.SessionByID(d.lanes.ctx, t.Session)
	return err == nil && d.can(s.Agent, can)
}

func (d giver) can(agent string, can func(command.Agent) bool) bool {
	for _, a := range d.agents.List() {
		if a.Name == agent {
			return can(a)
		}
	}
	return false
}

// called is an agent's name for people.
func (d *desk) called(agent string) string {
	for _, a := range d.agents.List() {
		if a.Name == agent {
			return cmp.Or(a.Title, agent)
		}
	}
	return agent
}

// Steer queues a turn and gives its words to the one that runs.
func (d *desk) Steer(ctx context.Context, r command.Request) (int64, command.Steering, error) {
	o := ordered(r)
	o.steered = r.Session != 0 && d.Takes(r.Session)
	t, err := d.queue(ctx, o)
	if err != nil || t.ID == 0 { // made before, and dealt with then
		return t.Session, command.SteerTried, err
	}
	put, can := d.runner.Steer, command.Agent.Steers
	if r.Instead {
		put, can = d.runner.Replace, command.Agent.Replaces
	}
	said, err := giver{d}.give(ctx, t, put, can)
	if chat.CodeOf(err) == chat.Conflict { // it runs already
		return t.Session, command.SteerIdle, nil
	}
	return t.Session, said, err
}

// Give gives the words of a queued turn to the one that runs in its session.
// What becomes of them is told when it is known, which may take long.
func (d *desk) Give(ctx context.Context, t chat.Turn) (command.Steering, error) {
	return giver{d}.give(ctx, t, d.runner.Steer, command.Agent.Steers)
}

// give is Give by one of the two ways in, for agents that have it.
func (d giver) give(
	ctx context.Context, t chat.Turn, put func(context.Context, int64, chat.Input) error, can func(command.Agent) bool,
) (command.Steering, error) {
	into, err := d.Turns.Active(ctx, t.Session)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return command.SteerIdle, nil
	case err != nil:
		return command.SteerIdle, fmt.Errorf("read running turn: %w", err)
	}
	s, err := d.Conversations.SessionByID(ctx, t.Session)
	switch {
	case err != nil:
		return command.SteerIdle, fmt.Errorf("read session: %w", err)
	case !d.can(s.Agent, can):
		return command.SteerCannot, nil
	}
	if err := d.Control.Offer(ctx, t.ID); err != nil {
		return command.SteerIdle, fmt.Errorf("offer turn %d: %w", t.ID, err)
	}
	lang := d.lang(chat.Conversation{}, t.By)
	d.wg.Go(func() {
		in, err := d.ready(ctx, t, s.Workspace, lang)
		if err == nil {
			err = put(ctx, into.ID, in)
		}
		d.given(context.WithoutCancel(ctx), gift{t, into.ID, d.called(s.Agent), lang}, err)
	})
	return command.SteerTried, nil
}

// gift is words on their way to a running turn.
type gift struct {
	turn  chat.Turn
	into  int64
	agent string // its name for people
	lang  string
}

// given writes down what became of a gift, and tells it.
func (d *desk) given(ctx context.Context, g gift, failure error) {
	if failure == nil {
		outs := d.voice.Compose(g.turn.Place, 0, fmt.Sprintf("steered/%d", g.turn.ID), chat.OutNotice, chat.Reply{
			Kind: chat.ReplyNotice, Silent: true, ReplyTo: g.turn.ReplyTo, Markdown: i18n.T(g.lang, "router.steered"),
		})
		if err := d.Control.Join(ctx, g.turn.ID, g.into, outs); err != nil { // it stays held: it may not be run again
			d.cfg.Log.WarnContext(ctx, "words that a turn took are not noted", "turn", g.turn.ID, "into", g.into, "err", err)
			return
		}
		d.notices.took(g.turn)
		d.voice.Wake(g.turn.Place)
		d.lanes.Wake(g.turn.Session)
		return
	}
	d.cfg.Log.InfoContext(ctx, "turn took no words", "turn", g.turn.ID, "into", g.into, "err", failure)
	if err := d.Control.Return(ctx, g.turn.ID); err != nil {
		if chat.CodeOf(err) != chat.Conflict { // taken back meanwhile
			d.cfg.Log.WarnContext(ctx, "turn not returned to the queue", "turn", g.turn.ID, "err", err)
		}
		return
	}
	if t, err := d.Turns.Active(ctx, g.turn.Session); err == nil && t.ID == g.into { // it has to wait, visibly
		text := i18n.T(g.lang, "router.steer_late", "agent", g.agent)
		reply := chat.Reply{
			Kind: chat.ReplyNotice, Silent: true, ReplyTo: g.turn.ReplyTo, Markdown: text,
			Buttons: [][]chat.Button{{removeButton(g.turn, g.lang)}},
		}
		if err := d.voice.Say(ctx, g.turn.Place, fmt.Sprintf("steer/%d/%d", g.turn.ID, g.into), reply); err != nil {
			d.cfg.Log.WarnContext(ctx, "notice not stored", "turn", g.turn.ID, "err", err)
		}
	}
	d.lanes.Wake(g.turn.Session)
}

// undecided asks about words of which the last life did not learn whether a
// turn took them: to run them again is for a person to say.
func (d *desk) undecided(ctx context.Context) {
	left, err := d.Control.Undecided(ctx)
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "words given to turns not looked at", "err", err)
		return
	}
	for _, t := range left {
		lang := d.lang(chat.Conversation{}, t.By)
		reply := chat.Reply{
			Kind: chat.ReplyNotice, ReplyTo: t.ReplyTo, Markdown: i18n.T(lang, "router.undecided", "text", title(t.Input)),
			Buttons: [][]chat.Button{{
				{Label: i18n.T(lang, "router.button_run"), Data: fmt.Sprintf("run:%d", t.Session), Style: "primary"}, removeButton(t, lang),
			}},
		}
		if err := d.voice.Say(ctx, t.Place, fmt.Sprintf("undecided/%d", t.ID), reply); err != nil {
			d.cfg.Log.WarnContext(ctx, "notice not stored", "turn", t.ID, "err", err)
		}
	}
}
