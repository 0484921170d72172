package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
)

// queue is /queue [run|clear]: what waits, each row removable.
func queue(ctx context.Context, s *Set, c Call) (Result, error) {
	switch strings.ToLower(c.Arg) {
	case "":
	case "run":
		return release(ctx, s, c)
	case "clear":
		return clearQueue(ctx, s, c)
	default:
		return failed(chat.Invalid, clip(c.Arg))
	}
	ids, err := busy(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	var lines []string
	var rows [][]chat.Button
	for _, session := range ids {
		waiting, err := s.Turns.Queued(ctx, session)
		if err != nil {
			return Result{}, fmt.Errorf("read queue: %w", err)
		}
		l, r := queued(c, session, waiting, s.Desk.Takes(session))
		lines, rows = append(lines, l...), append(rows, r...)
	}
	if len(lines) == 0 {
		return c.say("queue_empty"), nil
	}
	return notice(c.text("queue", "n", len(lines))+"\n"+strings.Join(lines, "\n"), rows...), nil
}

// busy returns the current session and those in which a turn runs.
func busy(ctx context.Context, s *Set, c Call) ([]int64, error) {
	ids, err := s.Desk.Running(ctx, c.Conv)
	if err != nil {
		return nil, err
	}
	if c.Conv.Session != 0 && !slices.Contains(ids, c.Conv.Session) {
		ids = append(ids, c.Conv.Session)
	}
	return ids, nil
}

// mostRows bounds the buttons of a list; the commands take the other rows.
const mostRows = 8

// queued shows the waiting turns of one session; takes says that the running
// turn takes words.
func queued(c Call, session int64, waiting []chat.Turn, takes bool) (lines []string, rows [][]chat.Button) {
	held := false
	for i, t := range waiting {
		line := fmt.Sprintf("#%d · %s", t.ID, clip(summary(t.Input)))
		if t.Held {
			held = true
			line += " · " + c.text("held")
		}
		lines = append(lines, line)
		if i < mostRows {
			row := []chat.Button{{Label: c.text("button_remove", "n", t.ID), Data: id("rm", t.ID)}}
			if takes {
				row = append(row, chat.Button{Label: c.text("button_now", "n", t.ID), Data: id("now", t.ID)})
			}
			rows = append(rows, row)
		}
	}
	if held {
		rows = append(rows, heldRow(c, session))
	}
	return lines, rows
}

// summary is an input in one line for people: the words, or what came without
// any.
func summary(in chat.Input) string {
	var parts []string
	for _, p := range in.Pieces {
		if p.Text != "" {
			parts = append(parts, p.Text)
			continue
		}
		if p.Quote != "" { // a message that was only forwarded
			parts = append(parts, "> "+p.Quote)
		}
		for _, f := range p.Files {
			switch {
			case f.Kind == chat.MediaQuote && f.Heard == "": // nobody has read it yet
				continue
			case f.Kind == chat.MediaQuote:
				parts = append(parts, "> "+f.Heard)
				continue
			case f.Heard != "":
				parts = append(parts, f.Heard)
				continue
			}
			parts = append(parts, "["+string(f.Kind)+" "+f.Name+"]")
		}
	}
	return strings.Join(parts, " ")
}

// owned returns the session that a button or the conversation names; it must
// be the conversation's own.
func owned(ctx context.Context, s *Set, c Call) (int64, error) {
	if !c.clicked() {
		if c.Conv.Session == 0 {
			return 0, chat.E(chat.Missing, "", nil)
		}
		return c.Conv.Session, nil
	}
	n, err := number(c.Arg)
	if err != nil {
		return 0, err
	}
	sess, err := s.Conversations.SessionByID(ctx, n)
	if err != nil {
		return 0, fmt.Errorf("read session: %w", err)
	}
	if sess.Conversation != c.Conv.ID {
		return 0, chat.E(chat.Missing, "", nil)
	}
	return n, nil
}
