package router

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/i18n"
)

// Stop ends the running turn of a session and holds what waits behind it; it
// holds first, so that nothing starts in between. A turn that the ledger takes
// for running although nobody runs it is ended here: a stop always frees the
// lane.
func (d *desk) Stop(ctx context.Context, session, only int64) (command.Stopping, error) {
	active, err := d.Turns.Active(ctx, session)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return command.Stopping{}, fmt.Errorf("read running turn: %w", err)
	}
	if only != 0 && active.ID != 0 && active.ID != only {
		return command.Stopping{}, nil // the button's turn is over; another one runs
	}
	var st command.Stopping
	if st.Held, err = d.Control.Hold(ctx, session); err != nil {
		return st, fmt.Errorf("hold queue: %w", err)
	}
	switch {
	case only == 0 && d.lanes.Stop(session, chat.Stopped),
		active.ID != 0 && d.lanes.stopTurn(active.ID, chat.Stopped),
		d.runner.Stop(session, chat.Stopped):
		st.Running = true
		return st, nil
	case active.ID == 0:
		return st, nil
	}
	st.Freed, err = d.free(ctx, active)
	return st, err
}

// free ends a turn that nobody runs.
func (d *desk) free(ctx context.Context, t chat.Turn) (bool, error) {
	text := i18n.T(d.lang(chat.Conversation{}, t.By), "error."+string(chat.Stopped))
	outs := d.voice.Compose(t.Place, 0, fmt.Sprintf("freed/%d", t.ID), chat.OutNotice,
		chat.Reply{Kind: chat.ReplyNotice, Markdown: text, ReplyTo: t.ReplyTo})
	err := d.Endings.Finish(ctx, chat.Ending{Turn: t.ID, State: chat.TurnStopped, Reason: chat.Stopped, Outs: outs})
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		d.cfg.Log.WarnContext(ctx, "turn that nobody ran ended", "turn", t.ID, "session", t.Session)
		d.voice.Wake(t.Place)
		d.lanes.Wake(t.Session)
		return true, nil
	case chat.Conflict: // it came to its end by itself
		return false, nil
	default:
		return false, fmt.Errorf("end turn: %w", err)
	}
}

// Running returns the sessions of a conversation in which a turn runs, the
// current one first.
func (d *desk) Running(ctx context.Context, c chat.Conversation) ([]int64, error) {
	var ids []int64
	if c.Session != 0 {
		switch t, err := d.Turns.Active(ctx, c.Session); chat.CodeOf(err) {
		case chat.CodeNone:
			ids = append(ids, t.Session)
		case chat.Missing:
		default:
			return nil, fmt.Errorf("read running turn: %w", err)
		}
	}
	for _, id := range d.lanes.running(c.ID) {
		t, err := d.Turns.TurnByID(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read turn: %w", err)
		}
		if !t.State.Final() && !slices.Contains(ids, t.Session) {
			ids = append(ids, t.Session)
		}
	}
	return ids, nil
}
