package store

import (
	"cligate/internal/command"
	webchat "cligate/internal/platform/web"
	"cligate/internal/receive"
	"cligate/internal/reply"
	"cligate/internal/router"
	"cligate/internal/session"
	"cligate/internal/turn"
	"cligate/internal/web"
)

// Every part of the ledger that a station declares is there.
var (
	_ receive.Inbox  = Inbox{}
	_ receive.Access = People{}
	_ receive.Asks   = Asks{}
	_ receive.Places = Places{}

	_ router.Inbox         = Inbox{}
	_ router.Turns         = Turns{}
	_ router.QueueControl  = Turns{}
	_ router.Conversations = Sessions{}
	_ router.Asks          = Asks{}
	_ router.History       = History{}

	_ command.Conversations = Sessions{}
	_ command.Turns         = Turns{}
	_ command.QueueControl  = Turns{}
	_ command.Asks          = Asks{}

	_ session.Ledger = Sessions{}

	_ turn.Ledger   = Runs{}
	_ turn.Recovery = Runs{}
	_ turn.Asks     = Asks{}
	_ turn.Threads  = Sessions{}
	_ turn.History  = History{}
	_ turn.Outbox   = Outbox{}

	_ reply.Outbox  = Outbox{}
	_ reply.Trouble = Outbox{}
	_ reply.Topics  = Outbox{}

	_ webchat.History = WebChats{}
	_ web.Logins      = Logins{}
)
