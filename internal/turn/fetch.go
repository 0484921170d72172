package turn

import "fmt"

// fetches reports whether something has to be fetched before the agent can
// begin.
func fetches(n *run) bool { return n.cfg.Incoming != nil && n.turn.Input.HasFiles() }

// gather fetches what was sent with the turn. An agent that waits for it is not
// silent.
func gather(n *run) error {
	if !fetches(n) {
		return nil
	}
	n.clerk.hold()
	defer n.clerk.release()
	in, err := n.cfg.Incoming.Prepare(n.ctx, n.turn, n.session.Workspace, n.words.lang)
	if err != nil {
		return fmt.Errorf("fetch what was sent: %w", err)
	}
	n.seats.update(func() { n.turn.Input = in })
	return nil
}
