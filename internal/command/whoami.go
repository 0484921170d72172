package command

import (
	"context"

	"cligate/internal/chat"
)

// whoami is /whoami: the caller's immutable id and what it may do here.
func whoami(_ context.Context, _ *Set, c Call) (Result, error) {
	text := c.text("whoami", "id", c.In.Sender.ID, "name", name(c.In.Sender), "role", c.text("role_"+string(c.In.Role)),
		"account", c.In.Place.Account, "chat", c.In.Place.Chat)
	// It goes into a configuration on another machine.
	return notice(text, []chat.Button{{Label: c.text("button_copy_id"), Copy: c.In.Sender.ID}}), nil
}
