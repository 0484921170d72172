package app

import (
	"cligate/internal/chat"
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
