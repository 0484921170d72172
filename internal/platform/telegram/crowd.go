package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
)

const (
	// crowdKeeps is how long a count is believed. Not everybody who comes or goes
	// is told to bots.
	crowdKeeps = 10 * time.Minute
	// crowdLimit bounds the question: messages wait for it.
	crowdLimit = 3 * time.Second
	// crowdAgain is the least time between two questions when there is no answer.
	crowdAgain = time.Minute
	maxCrowds  = 1000
)

// crowd knows how many there are in groups. Somebody who is alone with the bot
// in one need not name it.
type crowd struct {
	wire *wire
	log  *slog.Logger
	now  func() time.Time

	mu    sync.Mutex
	chats map[string]headcount
}

type headcount struct {
	people int // others than the bot; 0 = not known
	until  time.Time
}

func newCrowd(w *wire, log *slog.Logger) *crowd {
	return &crowd{wire: w, log: log, now: time.Now, chats: map[string]headcount{}}
}

// see fills in how many are in the chat of m, where that may matter: what means
// the bot is for it anyway, and only texts are said to nobody in particular.
func (c *crowd) see(ctx context.Context, m *chat.Message) {
	if m.Place.Direct || m.Addressed || m.Sender.Bot || m.Kind != chat.KindText && m.Kind != chat.KindEdit {
		return
	}
	m.People = c.count(ctx, m.Place.Chat)
}

func (c *crowd) count(ctx context.Context, chatID string) int {
	c.mu.Lock()
	h, ok := c.chats[chatID]
	c.mu.Unlock()
	if ok && c.now().Before(h.until) {
		return h.people
	}
	var n int
	err := c.wire.decode(ctx, request{method: "getChatMemberCount", params: params{"chat_id": chatID}, limit: crowdLimit}, &n)
	h = headcount{people: max(n-1, 0), until: c.now().Add(crowdKeeps)}
	if err != nil {
		c.log.DebugContext(ctx, "it is not known how many are in a group", "chat", chatID, "err", err)
		h = headcount{until: c.now().Add(crowdAgain)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.chats) >= maxCrowds {
		clear(c.chats)
	}
	c.chats[chatID] = h
	return h.people
}

// changed forgets the count of a chat: somebody came or went.
func (c *crowd) changed(chatID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.chats, chatID)
}
