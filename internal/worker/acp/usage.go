package acp

import (
	"time"

	"cligate/internal/chat"
)

// sums are an agent's running totals of a session, and how much of them has
// been told as figures of turns. Of a session that was loaded the total may
// hold what was told long ago: without a reading from before the turn the first
// difference is not known, and is not told.
type sums struct {
	loaded bool // the session is not new

	cost, costTold float64 // USD
	costRead       bool
	costKnown      bool // costTold is the total before the running turn

	told tokens // of agents that sum up; those begin anew with their process
}

// take takes in a reading.
func (s *sums) take(u update) {
	if u.Cost != nil && (u.Cost.Currency == "" || u.Cost.Currency == "USD") {
		s.cost, s.costRead = u.Cost.Amount, true
	}
}

// begin is called when a turn begins.
func (s *sums) begin() {
	switch {
	case s.costKnown:
	case !s.loaded:
		s.costKnown = true
	case s.costRead:
		s.costTold, s.costKnown = s.cost, true
	}
}

// soFar is what the running turn has cost until now, as far as that is known.
func (s *sums) soFar() (usd float64) {
	if s.costRead && s.costKnown {
		return since(s.cost, s.costTold)
	}
	return 0
}

// end is called when a turn ends, and returns what it has cost.
func (s *sums) end() (usd float64) {
	if !s.costRead {
		return 0
	}
	if s.costKnown {
		usd = since(s.cost, s.costTold)
	}
	s.costTold, s.costKnown = s.cost, true
	return usd
}

// since is a total's growth. A total that shrank was begun anew.
func since[N int64 | float64](total, before N) N {
	if total < before {
		return total
	}
	return total - before
}

// difference turns a total of tokens into those of the turn.
func (s *sums) difference(total tokens) tokens {
	was := s.told
	s.told = total
	if total.In < was.In || total.Out < was.Out {
		return total
	}
	return tokens{In: total.In - was.In, Out: total.Out - was.Out}
}

// soFar is what the running turn has cost until now.
func (s *session) soFar() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums.soFar()
}

// figures are the usage of a turn that ends; total is what the answer to its
// prompt says.
func (s *session) figures(t *turn, total *tokens) *chat.Usage {
	u, called := t.figures()
	u.Took, u.Model = time.Since(t.began), s.about().Model
	switch {
	case total == nil:
		u.In, u.Out = called.In, called.Out
	case s.cfg.UsageSums:
		s.mu.Lock()
		d := s.sums.difference(*total)
		s.mu.Unlock()
		u.In, u.Out = d.In, d.Out
	default:
		u.In, u.Out = total.In, total.Out
	}
	if w := s.settings.window(); w > 0 && u.Window == 0 && u.Used > 0 {
		u.Window = w
	}
	s.mu.Lock()
	u.CostUSD = s.sums.end()
	s.mu.Unlock()
	return &u
}

// total is what the answer to a prompt says about tokens; nil when it does not.
func (p prompted) total() *tokens {
	if p.Usage != nil {
		return p.Usage
	}
	if q := p.Meta.Quota.Tokens; q.In > 0 || q.Out > 0 {
		return &tokens{In: q.In, Out: q.Out}
	}
	return nil
}
