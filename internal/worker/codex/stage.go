package codex

import (
	"errors"
	"sync"

	"cligate/internal/chat"
)

// stage is what goes on in a session.
type stage struct {
	mu   sync.Mutex
	turn *turn          // the user's that runs
	own  *run           // what the agent does unasked
	kids map[string]kid // its sub-agents, by their threads
	left bool           // the worker is being closed
}

// kid is a sub-agent.
type kid struct {
	turn  string // that runs; empty = none
	total tokens // of its thread, as last told
}

// shut lets nothing more begin and returns the user's turn that runs.
func (s *stage) shut() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
	return s.turn
}

// closed reports whether the worker is being closed.
func (s *stage) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// enter makes t the running turn.
func (s *stage) enter(t *turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.left:
		return chat.E(chat.Shutdown, "", errGone)
	case s.turn != nil:
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	s.turn = t
	return nil
}

// exit says that Prompt is about to return.
func (s *stage) exit(t *turn) {
	s.mu.Lock()
	s.turn = nil
	s.mu.Unlock()
	close(t.gone)
}

// current returns the user's turn that runs.
func (s *stage) current() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// busy reports whether anything runs in the session.
func (s *stage) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil || s.own != nil
}

// takeOwn returns what the agent does unasked, if that is this turn (empty =
// any), and forgets it.
func (s *stage) takeOwn(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.own
	if r == nil || id != "" && r.id() != id {
		return nil
	}
	s.own = nil
	return r
}

func (s *stage) hasKid(thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.kids[thread]
	return ok
}

// children returns the sub-agents that are at work, by thread, with their
// turns.
func (s *stage) children() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := map[string]string{}
	for thread, k := range s.kids {
		if k.turn != "" {
			busy[thread] = k.turn
		}
	}
	return busy
}

// serves reports whether a sub-agent's turn belongs to what runs here.
func (s *stage) serves(root string) bool {
	s.mu.Lock()
	t, own := s.turn, s.own
	s.mu.Unlock()
	return root != "" && (t != nil && t.now().id() == root || own != nil && own.id() == root)
}

// runOf returns the run with that id, if it goes on.
func (s *stage) runOf(id string) *run {
	s.mu.Lock()
	t, own := s.turn, s.own
	s.mu.Unlock()
	if id == "" {
		return nil
	}
	if t != nil {
		if r := t.now(); r != nil && r.id() == id && !isClosed(r.done) {
			return r
		}
	}
	if own != nil && own.id() == id {
		return own
	}
	return nil
}

// runs are those that go on.
func (s *stage) runs() (all []*run) {
	s.mu.Lock()
	t, own := s.turn, s.own
	s.mu.Unlock()
	if t != nil {
		if r := t.now(); r != nil && !isClosed(r.done) {
			all = append(all, r)
		}
	}
	if own != nil {
		all = append(all, own)
	}
	return all
}

// child notes what a sub-agent's thread does: a turn, or nothing.
func (s *stage) child(thread, turn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kids[thread]
	k.turn = turn
	s.kids[thread] = k
}

// childSpent returns what a sub-agent's calls of the model took since that was
// last told.
func (s *stage) childSpent(thread string, u tokenUsage) tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kids[thread]
	before := k.total
	k.total = u.Total
	s.kids[thread] = k
	return u.since(before)
}

// setOwn notes what the agent does unasked, and returns what it did before.
func (s *stage) setOwn(r *run) (before *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.own = s.own, r
	return before
}
