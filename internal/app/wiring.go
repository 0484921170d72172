package app

import (
	"context"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/config"
	"cligate/internal/platform"
	"cligate/internal/reply"
	"cligate/internal/turn"
	"cligate/internal/worker"
)

// Small shapes that let stations meet which do not know each other.

type workerHost = worker.Host

// speaker is the Voice as turns want it.
type speaker struct{ *reply.Voice }

// Begin implements turn.Voice.
func (s speaker) Begin(t chat.Turn, look chat.Look) turn.Live {
	return s.Voice.Begin(t, look)
}

// titles gives topics their names.
type titles struct{ adapters map[string]platform.Adapter }

// Title implements router.Titles.
func (r titles) Title(ctx context.Context, p chat.Place, name string) error {
	a, ok := r.adapters[p.Account]
	if !ok || !a.Traits().Topics {
		return chat.E(chat.Unsupported, "", nil)
	}
	return a.Signal(ctx, p, chat.Ref{}, chat.Signal{Kind: chat.SignalTitle, Text: name})
}

// service tells commands what the chat service of an account can do.
func service(adapters map[string]platform.Adapter) func(account string) command.Service {
	return func(account string) command.Service {
		a, ok := adapters[account]
		if !ok {
			return command.Service{}
		}
		t := a.Traits()
		return command.Service{Topics: t.Topics, Overhears: t.Overhears, Unheard: t.Unheard}
	}
}

// room is what groups are set to that chose nothing.
func room(cfg config.Config) chat.Room {
	return chat.Room{Listen: chat.Listen(cfg.Groups.Listen), Sharing: chat.Sharing(cfg.Groups.Sharing)}
}
