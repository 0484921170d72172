package router

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/fault"
	"cligate/internal/i18n"
)

// desk makes turns and ends them, for messages and for commands.
type desk struct {
	Ledger
	lanes    *Lanes
	runner   Runner
	workers  Workers
	board    Board
	voice    Voice
	notices  *notices
	names    *names
	agents   command.Agents
	incoming Incoming
	cfg      Config
	wg       sync.WaitGroup // processes being closed, words given to running turns
}

var _ command.Desk = (*desk)(nil)

// order is what a turn is to be made from.
type order struct {
	in      chat.Inbound // whose place, author and language count; the cause when inbound is empty
	inbound []int64
	input   chat.Input
	session int64 // 0 = the current one
	names   int64
	exempt  bool // from the cap on the queue
	steered bool // is given to the running turn: that it waits is not shown
	instead bool // as of chat.NewTurn
}

// place queues a turn and returns its session, which the caller wakes.
// chat.Full: not taken. Messages that were bound before, and a cause that has
// made its turn, make no second one.
func (d *desk) place(ctx context.Context, o order) (int64, error) {
	t, err := d.queue(ctx, o)
	return t.Session, err
}

// queue is place, and returns the turn: all of it, or its session only when it
// was made before.
func (d *desk) queue(ctx context.Context, o order) (chat.Turn, error) {
	s, err := d.seat(ctx, o)
	if err != nil {
		return chat.Turn{}, err
	}
	none := chat.Turn{Session: s.sess.ID}
	var waiting []chat.Turn
	// In a session without a lane that replaced no other, nothing waits but
	// what is held, and the new turn runs at once.
	if _, busy := d.lanes.at(s.sess.ID); busy || s.conv.Previous != 0 {
		if waiting, err = d.Turns.Queued(ctx, s.sess.ID); err != nil {
			return none, fmt.Errorf("read queue: %w", err)
		}
	}
	if len(waiting) >= d.cfg.QueueMax && !o.exempt {
		return none, chat.E(chat.Full, strconv.Itoa(d.cfg.QueueMax), nil)
	}
	after, err := d.predecessor(ctx, s.before)
	if err != nil {
		return none, err
	}
	ahead := d.ahead(s.sess.ID, waiting)
	fault.Hit(fault.TurnMerging)
	t, err := d.Turns.NewTurn(ctx, o.turn(s.sess.ID, after.ID))
	if chat.CodeOf(err) == chat.Conflict {
		d.cfg.Log.DebugContext(ctx, "turn made before", "inbound", o.in.ID)
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("queue turn: %w", err)
	}
	fault.Hit(fault.TurnMerged)
	if ahead > 0 || after.ID != 0 {
		d.fetch(ctx, t, s)
	}
	d.names.first(o.in.Place, title(o.input))
	switch lang := d.lang(s.conv, o.in.Sender); {
	case after.ID != 0 && len(waiting) == 0:
		d.notices.waits(o.in, t, after, lang)
	case ahead > 0 && o.names != 0 && !o.steered:
		running, _ := d.lanes.at(t.Session)
		d.notices.again(o.in, t, running, ahead, lang)
	case ahead > 0 && !o.steered:
		d.notices.queued(o.in, t, ahead, d.Takes(t.Session), lang)
	}
	return t, nil
}

func (o order) turn(session, after int64) chat.NewTurn {
	n := chat.NewTurn{
		Conversation: o.in.Conversation, Session: session, Place: o.in.Place, Origin: chat.OriginUser,
		Input: o.input, Inbound: o.inbound, By: o.in.Sender, Names: o.names, After: after, Instead: o.instead,
	}
	if o.in.Kind != chat.KindClick {
		n.ReplyTo = o.in.Ref
	}
	if len(o.inbound) == 0 {
		n.Cause = o.in.ID
	}
	return n
}

// ahead counts the turns that run before a new one: what is held does not.
func (d *desk) ahead(session int64, waiting []chat.Turn) int {
	running, _ := d.lanes.at(session)
	n := 0
	for _, t := range waiting {
		if t.ID == running { // about to be claimed
			running = 0
		}
		if !t.Held {
			n++
		}
	}
	if running != 0 {
		n++
	}
	return n
}

// seat is where a new turn will run.
type seat struct {
	conv   chat.Conversation
	sess   chat.Session
	before int64 // the session before sess, when no turn of sess has begun yet
}

// seat chooses the session of a new turn, by the session rule.
func (d *desk) seat(ctx context.Context, o order) (s seat, err error) {
	if s.conv, err = d.conversation(ctx, o.in.Conversation); err != nil {
		return s, err
	}
	want := o.session
	if want == 0 {
		want = s.conv.Session
	}
	if want != 0 {
		if s.sess, err = d.Conversations.SessionByID(ctx, want); err != nil {
			return s, fmt.Errorf("read session: %w", err)
		}
	}
	switch {
	case o.session == 0 && !s.sess.Serves(s.conv):
		s.before = s.conv.Session
		s.sess, err = d.Conversations.StartSession(ctx, chat.NewSession{
			Conversation: s.conv.ID, Agent: s.conv.Agent, Workspace: s.conv.Workspace,
			Model: s.conv.Model, Mode: s.conv.Mode, Effort: s.conv.Effort, Title: title(o.input), Cause: o.in.ID,
		})
		if err != nil {
			return s, fmt.Errorf("start session: %w", err)
		}
	case s.sess.ID == s.conv.Session && s.conv.Previous != 0:
		// The first turn may be withdrawn before it begins: each one waits for
		// itself.
		switch last, err := d.History.LastTurn(ctx, s.sess.ID); {
		case chat.CodeOf(err) == chat.Missing, err == nil && last.StartedAt.IsZero():
			s.before = s.conv.Previous
		case err != nil:
			return s, fmt.Errorf("read last turn: %w", err)
		}
	}
	return s, nil
}

// predecessor is the last turn of a replaced session that still runs or will:
// the first turns of the new session wait for it.
func (d *desk) predecessor(ctx context.Context, session int64) (chat.Turn, error) {
	if session == 0 {
		return chat.Turn{}, nil
	}
	waiting, err := d.Turns.Queued(ctx, session)
	if err != nil {
		return chat.Turn{}, fmt.Errorf("read queue: %w", err)
	}
	for i := len(waiting) - 1; i >= 0; i-- {
		if !waiting[i].Held {
			return waiting[i], nil
		}
	}
	t, err := d.Turns.Active(ctx, session)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return t, fmt.Errorf("read running turn: %w", err)
	}
	return t, nil
}

// conversation reads a conversation and gives it the configured agent and
// workspace when it has none: what it works with is then its own, and a later
// change of the configuration does not move it.
func (d *desk) conversation(ctx context.Context, id int64) (chat.Conversation, error) {
	c, err := d.Conversations.ConversationByID(ctx, id)
	if err != nil {
		return c, fmt.Errorf("read conversation: %w", err)
	}
	if c.Agent != "" && c.Workspace != "" {
		return c, nil
	}
	was := c
	if c.Agent == "" {
		c.Agent = d.cfg.Agent
	}
	if c.Workspace == "" {
		c.Workspace = d.cfg.Commands.Workspaces[0].Path
	}
	if err := d.Conversations.Change(ctx, was, c); err != nil {
		return c, fmt.Errorf("keep defaults: %w", err)
	}
	return c, nil
}

// title is the first words of an input, for the list of sessions.
func title(in chat.Input) string {
	const most = 60
	for _, p := range in.Pieces {
		if words := strings.Join(strings.Fields(p.Text), " "); words != "" {
			return chat.Clip(words, most)
		}
	}
	return ""
}

// lang is the language for somebody: the conversation's, their own, the
// configured one.
func (d *desk) lang(c chat.Conversation, p chat.Person) string {
	for _, l := range []string{c.Lang, p.Lang, d.cfg.Lang} {
		if l != "" {
			return l
		}
	}
	return i18n.Default
}

// Submit queues a turn that a command or a button asked for.
func (d *desk) Submit(ctx context.Context, r command.Request) (int64, error) {
	return d.place(ctx, ordered(r))
}

// ordered is what a command asks for.
func ordered(r command.Request) order {
	o := order{in: r.Call.In, input: r.Input, session: r.Session, names: r.Names}
	for i := range o.input.Pieces {
		if !strings.HasPrefix(o.input.Pieces[i].Text, "/") { // a command of the agent's own
			o.input.Pieces[i].Speaker = speaker(r.Call.In)
		}
	}
	if r.Bound {
		o.inbound = []int64{r.Call.In.ID}
	}
	return o
}

// speaker names who speaks, where several people share a session.
func speaker(in chat.Inbound) string {
	if in.Place.Direct || in.Place.Person != "" {
		return ""
	}
	return in.Sender.Speaker()
}

// Retire closes the process of a replaced session, unless it has work.
func (d *desk) Retire(session int64) {
	if _, busy := d.lanes.at(session); busy {
		return // it is closed when it has been idle for long enough
	}
	d.wg.Go(func() { d.workers.Forget(session) })
}

// Decide answers an ask and tells the turn that waits for it.
func (d *desk) Decide(ctx context.Context, dec chat.Decision) (chat.Ask, error) {
	a, err := d.Asks.Decide(ctx, dec)
	if err != nil {
		return a, err
	}
	fault.Hit(fault.ClickStored)
	d.board.Decided(a)
	return a, nil
}
