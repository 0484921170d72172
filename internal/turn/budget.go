package turn

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Budget is what turns may use up, as far as their agents report it; 0 = no
// limit. Tokens are those in and out. A day begins at the machine's midnight
// and counts the turns of all conversations.
type Budget struct {
	TurnTokens int64
	TurnUSD    float64
	DayTokens  int64
	DayUSD     float64
}

// afford looks up what the day has used already. An error with code
// chat.OverBudget means that nothing is left, so nothing is started.
func (n *run) afford() error {
	b := n.cfg.Budget
	if n.books.Spending == nil || b.DayTokens <= 0 && b.DayUSD <= 0 {
		return nil
	}
	now := time.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	var before chat.Usage
	err := n.insist(n.ctx, n.turn.ID, "what the day has used", func(ctx context.Context) (err error) {
		before, err = n.books.Spending.Spent(ctx, 0, midnight)
		return err
	})
	if err != nil {
		return fmt.Errorf("read what the day has used: %w", err)
	}
	n.host.mu.Lock()
	n.host.before = before
	n.host.mu.Unlock()
	return n.excess(before, chat.Usage{})
}

// finishing is how long a turn beyond its budget may take to end by itself:
// most agents tell what it took as the last thing.
const finishing = time.Second

// spent stops a turn that goes on beyond its budget. h.mu is held.
func (h *host) spent() {
	if err := h.run.excess(h.before, h.usage); err != nil {
		stop := h.run.stop // after the end it does nothing
		time.AfterFunc(finishing, func() { stop(err) })
	}
}

// overdrawn tells of a turn that ended by itself, beyond its budget.
func (n *run) overdrawn(e ending, usage chat.Usage) []chat.Reply {
	n.host.mu.Lock()
	before := n.host.before
	n.host.mu.Unlock()
	err := n.excess(before, usage)
	if err == nil || e.reason == chat.OverBudget {
		return nil
	}
	return []chat.Reply{n.words.notice(i18n.T(n.words.lang, "error.over_budget", "detail", i18n.Detail(n.words.lang, err)))}
}

// excess is the error that says which limit is reached; nil when none is. before
// is what was used today, now what the turn has used so far.
func (n *run) excess(before, now chat.Usage) error {
	b := n.cfg.Budget
	tokens, today := now.In+now.Out, before.In+before.Out+now.In+now.Out
	usd := before.CostUSD + now.CostUSD
	var key, used, limit string
	switch {
	case b.TurnTokens > 0 && tokens > b.TurnTokens:
		key, used, limit = "turn.budget.turn_tokens", fmt.Sprint(tokens), fmt.Sprint(b.TurnTokens)
	case b.TurnUSD > 0 && now.CostUSD > b.TurnUSD:
		key, used, limit = "turn.budget.turn_usd", dollars(now.CostUSD), dollars(b.TurnUSD)
	case b.DayTokens > 0 && today >= b.DayTokens:
		key, used, limit = "turn.budget.day_tokens", fmt.Sprint(today), fmt.Sprint(b.DayTokens)
	case b.DayUSD > 0 && usd >= b.DayUSD:
		key, used, limit = "turn.budget.day_usd", dollars(usd), dollars(b.DayUSD)
	default:
		return nil
	}
	return chat.E(chat.OverBudget, i18n.T(n.words.lang, key, "used", used, "limit", limit), nil)
}

func dollars(usd float64) string { return fmt.Sprintf("$%.2f", usd) }
