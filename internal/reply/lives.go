package reply

import (
	"sync"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// lives are the live messages of the turns that run.
type lives struct {
	mu     sync.Mutex
	byTurn map[int64]*Live
	byChan map[string]map[int64]*Live
}

func newLives() *lives {
	return &lives{byTurn: map[int64]*Live{}, byChan: map[string]map[int64]*Live{}}
}

func (s *lives) add(l *Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := l.turn.Place.Channel()
	s.byTurn[l.turn.ID] = l
	if s.byChan[ch] == nil {
		s.byChan[ch] = map[int64]*Live{}
	}
	s.byChan[ch][l.turn.ID] = l
}

// close forgets the live message of a turn. It returns the line that remains
// and whether the message is, or may be, out: one of an earlier life of the
// daemon may be.
func (s *lives) close(turn int64, lang string) (line string, out bool) {
	s.mu.Lock()
	l := s.byTurn[turn]
	if l != nil {
		delete(s.byTurn, turn)
		ch := l.turn.Place.Channel()
		if delete(s.byChan[ch], turn); len(s.byChan[ch]) == 0 {
			delete(s.byChan, ch)
		}
	}
	s.mu.Unlock()
	if l == nil {
		return i18n.T(lang, "reply.over"), true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.post.timer != nil {
		l.post.timer.Stop()
	}
	if l.line == "" {
		l.line = i18n.T(l.lang, "reply.over")
	}
	return l.line, l.post.queued
}

// of returns the live message of a turn that still runs; nil otherwise.
func (s *lives) of(turn int64) *Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byTurn[turn]
}

// due returns a live message of a channel that has a new picture which may be
// shown now, with that picture.
func (s *lives) due(channel string) (*Live, chat.Out) {
	s.mu.Lock()
	ls := make([]*Live, 0, len(s.byChan[channel]))
	for _, l := range s.byChan[channel] {
		ls = append(ls, l)
	}
	s.mu.Unlock()
	for _, l := range ls {
		if o, ok := l.edit(); ok {
			return l, o
		}
	}
	return nil, chat.Out{}
}

// slow makes the edits of a channel rarer (n times), or normal again (0).
func (s *lives) slow(channel string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.byChan[channel] {
		l.mu.Lock()
		l.post.slowing = n
		l.mu.Unlock()
	}
}
