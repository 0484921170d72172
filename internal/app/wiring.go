package app

import (
	"context"

	"cligate/internal/chat"
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
func (s speaker) Begin(t chat.Turn, lang, agent string) turn.Live {
	return s.Voice.Begin(t, lang, agent)
}

// reactions are the signals that the router gives.
type reactions struct{ adapters map[string]platform.Adapter }

// React implements router.Signals.
func (r reactions) React(ctx context.Context, p chat.Place, ref chat.Ref, emoji string) error {
	a, ok := r.adapters[p.Account]
	if !ok || !a.Traits().React {
		return chat.E(chat.Unsupported, "", nil)
	}
	return a.Signal(ctx, p, ref, chat.Signal{Kind: chat.SignalReact, Emoji: emoji})
}
