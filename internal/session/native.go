package session

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Moved reports whether a session that was handed over to a terminal has gone
// on there, as its agent's own list tells. An error means that nobody can tell.
func (m *Manager) Moved(ctx context.Context, s chat.Session) (bool, error) {
	c, ok := m.open.drivers[s.Agent].(worker.Cataloguer)
	if !ok {
		return false, chat.E(chat.Unsupported, "", nil)
	}
	all, err := c.Sessions(ctx, s.Workspace)
	if err != nil {
		return false, fmt.Errorf("list the agent's sessions: %w", err)
	}
	i := slices.IndexFunc(all, func(n worker.Native) bool { return n.ID == s.NativeID })
	if i < 0 {
		return false, chat.E(chat.Missing, "", nil)
	}
	return all[i].Used.After(s.ParkedAt), nil
}
