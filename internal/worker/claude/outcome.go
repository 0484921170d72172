package claude

import (
	"strings"
	"time"

	"cligate/internal/chat"
)

// ended takes a result message. Only success and errors end a run; other
// subtypes report on the way.
func (rd *reader) ended(subtype string, m resultMsg) {
	if subtype != "success" && !strings.HasPrefix(subtype, "error") {
		rd.log.DebugContext(rd.life, "result that ends nothing", "subtype", subtype)
		return
	}
	rd.result(m)
}

func (rd *reader) result(m resultMsg) {
	cost := rd.price(m.Cost)
	r := rd.run
	rd.run = nil
	if r == nil {
		if m.Failed {
			rd.known.say(m.text())
		}
		rd.log.InfoContext(rd.life, "result without a run", "failed", m.Failed)
		return
	}
	err := r.finish(m, cost, time.Now())
	switch {
	case r.turn != nil:
		rd.takeBack(r.turn.ran(r.usage, r.called, err))
	case r.end != nil:
		u := r.usage
		r.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
		r.end(err)
	}
}

// total is the money spent so far, for a run whose own figure was not read.
func (rd *reader) total() float64 {
	if rd.counted {
		return rd.cost
	}
	spent, _ := rd.known.spent()
	return spent
}

// price is what the run cost that ends with a total.
func (rd *reader) price(total float64) float64 {
	before := rd.cost
	if !rd.counted {
		var ok bool
		if before, ok = rd.known.spent(); !ok { // nobody knows: no figure is better than a wrong one
			before = total
		}
	}
	rd.cost, rd.counted = total, true
	if total < before { // the agent began to count anew
		return total
	}
	return total - before
}

// limit notes when the account's limit ends.
func (rd *reader) limit(m limitMsg) {
	if rd.run != nil && m.Info.ResetsAt > 0 && m.Info.Status != "allowed" {
		rd.run.resets = time.Unix(m.Info.ResetsAt, 0)
	}
}
