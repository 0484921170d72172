package feishu

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// rates count calls and know the budgets: of an API (50/s, 1000/min), of a
// chat (5/s for messages, all bots together), of a patched message (5/s), of a
// card entity (10/s over all calls).
type rates struct {
	clock      *clock
	mu         sync.Mutex
	seen       map[string][]time.Time
	violations []Violation
}

// Violation is a call beyond a budget, whether it was refused or not.
type Violation struct {
	At  time.Time
	Key string // of the budget: what it is for
}

func newRates(c *clock) *rates { return &rates{clock: c, seen: map[string][]time.Time{}} }

// Violations returns the calls beyond a budget so far.
func (r *rates) Violations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

// beyond counts one use of a budget and reports whether it is exceeded. What
// is refused does not count.
func (r *rates) beyond(key string, limit int, span time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.now()
	hist := r.seen[key]
	for len(hist) > 0 && now.Sub(hist[0]) >= span {
		hist = hist[1:]
	}
	over := len(hist) >= limit
	if over {
		r.violations = append(r.violations, Violation{At: time.Now(), Key: key})
	} else {
		hist = append(hist, now)
	}
	r.seen[key] = hist
	return over
}

func (r *rates) admitAPI(enforce bool, app, api string) *refusal {
	second := r.beyond(app+"/"+api+"/s", apiSecond, time.Second)
	minute := r.beyond(app+"/"+api+"/min", apiMinute, time.Minute)
	if enforce && (second || minute) {
		reset := 1
		if minute {
			reset = 60
		}
		return &refusal{status: http.StatusTooManyRequests, code: 99991400, msg: "request trigger frequency limit", reset: reset}
	}
	return nil
}

// admitChat counts a message to a chat, of whatever bot.
func (r *rates) admitChat(enforce bool, chat string) *refusal {
	if r.beyond("chat/"+chat, chatSecond, time.Second) && enforce {
		return refuse(230020, "This operation triggers the frequency limit.")
	}
	return nil
}

func (r *rates) admitPatch(enforce bool, message string) *refusal {
	if r.beyond("message/"+message, messageSecond, time.Second) && enforce {
		return refuse(230020, "This operation triggers the frequency limit.")
	}
	return nil
}

// admitCard counts a call about a card entity. That the service answers with
// this code is assumed: the limit is documented, its code is not.
func (r *rates) admitCard(enforce bool, card string) *refusal {
	if r.beyond("card/"+card, cardSecond, time.Second) && enforce {
		return refuse(230020, "This operation triggers the frequency limit.")
	}
	return nil
}
