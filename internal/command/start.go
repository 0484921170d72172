package command

import "context"

// start is /start: what a chat service sends when somebody opens the chat.
func start(_ context.Context, s *Set, c Call) (Result, error) {
	return c.say("start", "agent", s.agentTitle(c.Conv.Agent), "workspace", s.workspaceName(c.Conv.Workspace)), nil
}
