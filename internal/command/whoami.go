package command

import "context"

// whoami is /whoami: the caller's immutable id and what it may do here.
func whoami(_ context.Context, _ *Set, c Call) (Result, error) {
	return c.say("whoami",
		"id", c.In.Sender.ID, "name", name(c.In.Sender), "role", c.text("role_"+string(c.In.Role)),
		"account", c.In.Place.Account, "chat", c.In.Place.Chat), nil
}
