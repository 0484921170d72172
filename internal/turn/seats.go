package turn

import (
	"sync"

	"cligate/internal/chat"
)

// seats knows which turn runs in which session of this process. The ledger
// refuses a second active turn; here the second one waits.
type seats struct {
	mu     sync.Mutex
	active map[int64]*run // by session
	shared map[int64]bool // sessions that were told that their workspace is shared
	closed bool
}

// occupy makes n the turn of a session as soon as no other is, until n leaves;
// false when n was cancelled first.
func (s *seats) occupy(n *run, session int64) bool {
	for n.ctx.Err() == nil {
		if s.take(n, session) {
			return true
		}
		other := s.current(session)
		if other == nil {
			continue
		}
		select {
		case <-other.over:
		case <-n.ctx.Done():
		}
	}
	return false
}

// take makes n the turn of a session if there is none.
func (s *seats) take(n *run, session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[session] != nil || n.turn.Origin == chat.OriginAgent && s.closed {
		return false
	}
	s.active[session] = n
	return true
}

func (s *seats) current(session int64) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[session]
}

// leave is the end of n in this process.
func (s *seats) leave(n *run) {
	s.mu.Lock()
	for id, other := range s.active {
		if other == n {
			delete(s.active, id)
		}
	}
	s.mu.Unlock()
	n.stop(nil)
	close(n.over)
}

// update changes what others may look at.
func (s *seats) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// neighbour reports, once for each session, whether another session's turn
// works in the same directory.
func (s *seats) neighbour(n *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared[n.session.ID] {
		return false
	}
	for _, other := range s.active {
		if other != n && other.session.ID != n.session.ID && other.session.Workspace == n.session.Workspace {
			s.shared[n.session.ID] = true
			return true
		}
	}
	return false
}

// stop ends the turn that the session's agent started; false when there is
// none.
func (s *seats) stop(session int64, why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.active[session]
	if n == nil || n.turn.Origin != chat.OriginAgent {
		return false
	}
	n.stop(why)
	return true
}

// close ends all turns that agents started and lets none begin; false when
// that was done before.
func (s *seats) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.closed = true
	for _, n := range s.active {
		if n.turn.Origin == chat.OriginAgent {
			n.stop(chat.E(chat.Shutdown, "", nil))
		}
	}
	return true
}

// unlessClosed runs f, which must not block, unless close was called.
func (s *seats) unlessClosed(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f()
	}
	return !s.closed
}
