package session

import (
	"context"
	"errors"
	"fmt"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Agents is what the operator set about agents, by their names.
type Agents struct {
	Defaults   map[string]chat.Settings // what sessions run with that wish for nothing
	Unattended map[string]bool          // may act without asking anybody
	// Asks reports whether an agent asks before it acts; nil = all do. It may
	// look at the agent, within ctx.
	Asks func(ctx context.Context, agent string) (bool, error)
	// Forgets reports whether an agent is known to lose a session with its
	// process; nil = none does. Such a process is kept as long as possible.
	Forgets func(agent string) bool
}

// Open opens a worker unless the agent would act without asking anybody and the
// operator has not allowed that: chat.Unasked. Nothing has been said to it by
// then.
func (a Agents) Open(ctx context.Context, d worker.Driver, agent string, s worker.Spec) (worker.Worker, error) {
	if a.Unattended[agent] {
		return guarded(ctx, d, s)
	}
	if worker.Unasked(s.Mode) {
		return nil, chat.E(chat.Unasked, s.Mode, nil)
	}
	asks := make(chan error, 1)
	go func() { asks <- a.asks(ctx, agent) }() // received below
	w, err := guarded(ctx, d, s)
	refused := <-asks
	switch {
	case err != nil:
		return nil, err
	case refused == nil && worker.Unasked(w.Info().Mode): // the agent chose it
		refused = chat.E(chat.Unasked, w.Info().Mode, nil)
	}
	if refused != nil {
		return nil, errors.Join(refused, w.Close())
	}
	return w, nil
}

// asks is an error when the agent acts without asking, or when nobody knows.
func (a Agents) asks(ctx context.Context, agent string) error {
	if a.Asks == nil {
		return nil
	}
	switch ok, err := a.Asks(ctx, agent); {
	case err != nil:
		return fmt.Errorf("find out whether the agent asks: %w", err)
	case !ok:
		return chat.E(chat.Unasked, "", nil)
	}
	return nil
}
