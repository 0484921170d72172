package workertest

import (
	"context"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Input is an input of one text.
func Input(text string) chat.Input { return chat.Input{Pieces: []chat.Piece{{Text: text}}} }

// Prompt runs a whole turn.
func Prompt(t *testing.T, w worker.Worker, text string, answer Answer) (*Host, error) {
	t.Helper()
	h := NewHost(answer)
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()
	err := w.Prompt(ctx, Input(text), h)
	h.Leave(t)
	return h, err
}

// Begin starts a turn and returns how to cancel it, and its result.
func Begin(t *testing.T, w worker.Worker, text string, h *Host) (cancel context.CancelCauseFunc, result <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	res := make(chan error, 1)
	go func() { // ends with the turn
		err := w.Prompt(ctx, Input(text), h)
		h.Leave(t)
		res <- err
	}()
	return cancel, res
}
