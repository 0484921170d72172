package claude

import "cligate/internal/chat"

// meter counts the tokens of a run, call of the model by call, while it goes
// on. The same call is told about several times, each time with figures that
// are at least those of before; those of a sub-agent's calls count, too.
type meter struct {
	calls map[string]tokens // by the message's id
	now   string            // the agent's own call that is streamed
}

// begin takes the beginning of a streamed message.
func (m *meter) begin(id string, t *tokens) {
	m.now = id
	m.count(id, t)
}

// count takes the figures of a call, as far as they are known.
func (m *meter) count(id string, t *tokens) {
	if t == nil || id == "" {
		return
	}
	if m.calls == nil {
		m.calls = map[string]tokens{}
	}
	m.calls[id] = m.calls[id].most(*t)
}

// total is what all calls have taken so far.
func (m *meter) total() (in, out int64) {
	for _, t := range m.calls {
		in += t.input()
		out += t.Out
	}
	return in, out
}

// most takes the greater one of each figure.
func (t tokens) most(o tokens) tokens {
	return tokens{In: max(t.In, o.In), Write: max(t.Write, o.Write), Cached: max(t.Cached, o.Cached), Out: max(t.Out, o.Out)}
}

// spend reports what the turn has used so far, so that somebody can end it
// before it has used too much. Money is told at the end of a run only.
func (r *run) spend() {
	if r.turn == nil && r.end == nil { // it is nobody's
		return
	}
	u := r.usage
	u.In, u.Out = r.meter.total()
	if u.In == r.told.In && u.Out == r.told.Out {
		return
	}
	r.told = u
	if r.turn != nil {
		before, _ := r.turn.outcome()
		u = sum(before, u)
	}
	r.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
}

// used returns the tokens of a run that is over. What the agent says at the end
// leaves out the calls of sub-agents, or those that were cut short, depending
// on where it says it; nothing that was counted is too much.
func (r *run) used(m resultMsg) (in, out int64) {
	in, out = r.meter.total()
	in, out = max(in, m.Usage.input()), max(out, m.Usage.Out)
	var since, sinceOut int64
	for _, u := range m.Since {
		since += u.In + u.Cached + u.Write
		sinceOut += u.Out
	}
	return max(in, since), max(out, sinceOut)
}
