package command

import (
	"context"

	"cligate/internal/chat"
)

// stop is /stop and the [Stop] button: it ends the running turn only and holds
// what waits behind it.
func stop(ctx context.Context, s *Set, c Call) (Result, error) {
	session, only := c.Conv.Session, int64(0)
	if c.clicked() {
		t, err := turnOf(ctx, s, c, c.Arg)
		if err != nil {
			return Result{}, err
		}
		if t.State.Final() {
			return c.say("stop_over"), nil
		}
		session, only = t.Session, t.ID
	} else if running, err := s.Desk.Running(ctx, c.Conv); err != nil {
		return Result{}, err
	} else if len(running) > 0 {
		session = running[0]
	}
	if session == 0 {
		return c.say("stop_nothing"), nil
	}
	st, err := s.Desk.Stop(ctx, session, only)
	if err != nil {
		return Result{}, err
	}
	return stopped(c, session, st), nil
}

// stopped says what a stop found. That the turn has stopped is said by the
// turn, when it is true.
func stopped(c Call, session int64, st Stopping) Result {
	text := ""
	switch {
	case st.Running && c.clicked(): // the button's toast has said it
	case st.Running:
		text = c.text("stop_running")
	case st.Freed:
		text = c.text("stop_freed")
	default:
		text = c.text("stop_nothing")
	}
	if st.Held == 0 {
		if text == "" {
			return Result{}
		}
		return notice(text)
	}
	if text != "" {
		text += "\n"
	}
	return notice(text+c.text("stop_held", "n", st.Held), heldRow(c, session))
}

func heldRow(c Call, session int64) []chat.Button {
	return []chat.Button{
		{Label: c.text("button_run"), Data: id("run", session), Style: "primary"},
		{Label: c.text("button_clear"), Data: id("clear", session), Style: "danger"},
	}
}
