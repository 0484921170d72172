package chat_test

import (
	"testing"

	"cligate/internal/chat"
)

// The session rule, row by row: what changes in the conversation or in the
// session, and whether the session goes on to serve it.
func TestSessionServesUntilItIsReplacedOrLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *chat.Session, c *chat.Conversation)
		serves bool
	}{
		"nothing":                        {func(*chat.Session, *chat.Conversation) {}, true},
		"another model is wished for":    {func(_ *chat.Session, c *chat.Conversation) { c.Model = "small" }, true},
		"another mode is wished for":     {func(_ *chat.Session, c *chat.Conversation) { c.Mode = "plan" }, true},
		"another language":               {func(_ *chat.Session, c *chat.Conversation) { c.Lang = "zh" }, true},
		"the agent changed its id":       {func(s *chat.Session, _ *chat.Conversation) { s.NativeID = "n2" }, true},
		"no id is known yet":             {func(s *chat.Session, _ *chat.Conversation) { s.NativeID = "" }, true},
		"it begins with a recap":         {func(s *chat.Session, _ *chat.Conversation) { s.Recap = true }, true},
		"another session is current":     {func(_ *chat.Session, c *chat.Conversation) { c.Session = 8 }, false},
		"none is current":                {func(_ *chat.Session, c *chat.Conversation) { c.Session = 0 }, false},
		"another agent is wished for":    {func(_ *chat.Session, c *chat.Conversation) { c.Agent = "demo" }, false},
		"another workspace":              {func(_ *chat.Session, c *chat.Conversation) { c.Workspace = "/elsewhere" }, false},
		"a workspace that begins alike":  {func(_ *chat.Session, c *chat.Conversation) { c.Workspace = "/src/sub" }, false},
		"the agent has lost it":          {func(s *chat.Session, _ *chat.Conversation) { s.State = chat.SessionLost }, false},
		"it is another conversation's":   {func(s *chat.Session, _ *chat.Conversation) { s.Conversation = 2 }, false},
		"there is no session at all yet": {func(s *chat.Session, c *chat.Conversation) { *s, c.Session = chat.Session{}, 0 }, false},
	} {
		s := chat.Session{ID: 7, Conversation: 1, Agent: "claude", Workspace: "/src", State: chat.SessionOpen, NativeID: "n1"}
		conv := chat.Conversation{ID: 1, Session: 7, Agent: "claude", Workspace: "/src"}
		c.change(&s, &conv)
		if got := s.Serves(conv); got != c.serves {
			t.Errorf("%s: serves is %v", name, got)
		}
	}
}
