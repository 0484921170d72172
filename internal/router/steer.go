package router

import (
	"cmp"
	"context"
	"fmt"
	"time"

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
	put, can := d.runner.Steer, command.Agent.Steers
	if r.Instead {
		put, can = d.runner.Replace, command.Agent.Replaces
	}
	o.steered = r.Session != 0 && giver{d}.able(r.Session, can)
	o.instead = r.Instead && r.Session != 0
	t, err := d.queue(ctx, o)
	if err != nil || t.ID == 0 { // made before, and dealt with then
		return t.Session, command.SteerTried, err
	}
	said, err := giver{d}.give(ctx, t, way{put, can, r.Instead})
	if chat.CodeOf(err) == chat.Conflict { // it runs already
		return t.Session, command.SteerIdle, nil
	}
	return t.Session, said, err
}

// Give gives the words of a queued turn to the one that runs in its session.
// What becomes of them is told when it is known, which may take long.
func (d *desk) Give(ctx context.Context, t chat.Turn) (command.Steering, error) {
	return giver{d}.give(ctx, t, way{put: d.runner.Steer, can: command.Agent.Steers})
}

// way is one of the two ways in.
type way struct {
	put     func(ctx context.Context, turn int64, in chat.Input) error
	can     func(command.Agent) bool
	instead bool // the words mean nothing but in place of what runs
}

// give is Give by one of the ways in, for agents that have it.
func (d giver) give(ctx context.Context, t chat.Turn, w way) (command.Steering, error) {
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
	}
	lang := d.lang(chat.Conversation{}, t.By)
	g := gift{t, into.ID, d.called(s.Agent), lang, w.instead}
	if !d.can(s.Agent, w.can) {
		if w.instead {
			return command.SteerTried, d.unwanted(ctx, g)
		}
		return command.SteerCannot, nil
	}
	if err := d.Control.Offer(ctx, t.ID); err != nil {
		return command.SteerIdle, fmt.Errorf("offer turn %d: %w", t.ID, err)
	}
	d.wg.Go(func() {
		known := make(chan struct{})
		d.wg.Go(func() { d.meanwhile(ctx, g, known) })
		in, err := d.ready(ctx, t, s.Workspace, lang)
		if err == nil {
			err = w.put(ctx, into.ID, in)
		}
		close(known)
		d.given(context.WithoutCancel(ctx), g, err)
	})
	return command.SteerTried, nil
}

// takeTime is how long nothing is said about words on their way to a turn: most
// are taken at once.
const takeTime = time.Second

// meanwhile tells that words are on their way, when it is not known soon what
// becomes of them: an agent that is in the middle of something may take them
// much later, or not before the turn's end.
func (d giver) meanwhile(ctx context.Context, g gift, known <-chan struct{}) {
	timer := time.NewTimer(takeTime)
	defer timer.Stop()
	select {
	case <-known:
	case <-ctx.Done():
	case <-timer.C:
		d.notices.offered(g.turn, g.into, g.agent, g.lang)
	}
}

// gift is words on their way to a running turn.
type gift struct {
	turn    chat.Turn
	into    int64
	agent   string // its name for people
	lang    string
	instead bool // as of way
}

// unwanted withdraws words that were to take the place of what ran and did not:
// later they would mean something else.
func (d *desk) unwanted(ctx context.Context, g gift) error {
	text := i18n.T(g.lang, "router.instead_late", "agent", g.agent, "text", title(g.turn.Input))
	outs := d.voice.Compose(g.turn.Place, 0, fmt.Sprintf("instead/%d", g.turn.ID), chat.OutNotice, chat.Reply{
		Kind: chat.ReplyNotice, ReplyTo: g.turn.ReplyTo, Markdown: text,
	})
	if err := d.Control.Withdraw(ctx, g.turn.ID, outs); err != nil {
		if chat.CodeOf(err) == chat.Conflict { // taken back meanwhile
			return nil
		}
		return fmt.Errorf("withdraw turn %d: %w", g.turn.ID, err)
	}
	d.voice.Wake(g.turn.Place)
	d.lanes.Wake(g.turn.Session)
	return nil
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
	if g.instead {
		if err := d.unwanted(ctx, g); err != nil { // it stays held, and is asked about
			d.cfg.Log.WarnContext(ctx, "words that nothing took are not withdrawn", "turn", g.turn.ID, "err", err)
		}
		return
	}
	if err := d.Control.Return(ctx, g.turn.ID); err != nil {
		if chat.CodeOf(err) != chat.Conflict { // taken back meanwhile
			d.cfg.Log.WarnContext(ctx, "turn not returned to the queue", "turn", g.turn.ID, "err", err)
		}
		return
	}
	if (giver{d}).behind(ctx, g) { // it has to wait, visibly
		text := i18n.T(g.lang, "router.steer_late", "agent", g.agent)
		reply := chat.Reply{
			Kind: chat.ReplyNotice, Silent: true, ReplyTo: g.turn.ReplyTo, Markdown: text,
			Buttons: [][]chat.Button{{removeButton(g.turn, g.lang)}}, Waits: g.turn.ID, Over: i18n.T(g.lang, "router.queued_over"),
		}
		if err := d.voice.Say(ctx, g.turn.Place, fmt.Sprintf("steer/%d/%d", g.turn.ID, g.into), reply); err != nil {
			d.cfg.Log.WarnContext(ctx, "notice not stored", "turn", g.turn.ID, "err", err)
		}
	}
	d.lanes.Wake(g.turn.Session)
}

// behind reports whether words that were not taken have to wait: the turn that
// did not take them runs still, or others come before.
func (d giver) behind(ctx context.Context, g gift) bool {
	if t, err := d.Turns.Active(ctx, g.turn.Session); err == nil && t.ID != g.turn.ID {
		return true
	}
	waiting, err := d.Turns.Queued(ctx, g.turn.Session)
	return err == nil && len(waiting) > 0 && waiting[0].ID != g.turn.ID
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
			Waits: t.ID,
		}
		if err := d.voice.Say(ctx, t.Place, fmt.Sprintf("undecided/%d", t.ID), reply); err != nil {
			d.cfg.Log.WarnContext(ctx, "notice not stored", "turn", t.ID, "err", err)
		}
	}
}
