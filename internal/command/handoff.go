package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
)

// handoff is /handoff: the session goes on in a terminal. Its process is closed
// first, for two of them would write to one session.
func handoff(ctx context.Context, s *Set, c Call) (Result, error) {
	cur, _, err := current(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	if !cur.Serves(c.Conv) || cur.NativeID == "" {
		return c.say("handoff_none"), nil
	}
	argv := s.Agents.Terminal(cur.Agent, cur.NativeID)
	if len(argv) == 0 {
		return c.say("handoff_cannot", "agent", s.agentTitle(cur.Agent)), nil
	}
	running, err := s.Desk.Running(ctx, c.Conv)
	if err != nil {
		return Result{}, err
	}
	waiting, err := s.Turns.Queued(ctx, cur.ID)
	if err != nil {
		return Result{}, fmt.Errorf("read queue: %w", err)
	}
	if slices.Contains(running, cur.ID) || slices.ContainsFunc(waiting, func(t chat.Turn) bool { return !t.Held }) {
		return c.say("handoff_busy"), nil
	}
	s.Workers.Forget(cur.ID)
	if err := s.Conversations.Park(ctx, cur.ID, time.Now()); err != nil {
		return Result{}, fmt.Errorf("park session: %w", err)
	}
	line := shellLine(cur.Workspace, argv)
	return notice(c.text("handoff", "session", cur.ID)+"\n\n"+chat.Fence(line), []chat.Button{{Label: c.text("button_copy"), Copy: line}}), nil
}

// shellLine is the command that goes on with a session in its directory, for a
// POSIX shell.
func shellLine(dir string, argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quoted(w)
	}
	return "cd " + quoted(dir) + " && " + strings.Join(words, " ")
}

const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,"

// quoted is one word for a shell.
func quoted(w string) string {
	if w != "" && strings.Trim(w, harmless) == "" && !strings.HasPrefix(w, "=") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
