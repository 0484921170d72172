package feishu

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"cligate/internal/chat"
)

const (
	// crowdKeeps is how long a count is believed: apps need not subscribe to who
	// comes and goes.
	crowdKeeps = 5 * time.Minute
	// crowdLimit bounds the question: the event is acknowledged after it.
	crowdLimit = 700 * time.Millisecond
	// crowdAgain is the least time between two questions when there is no answer.
	crowdAgain = time.Minute
)

// headcount is how many others than the bot are in a chat; 0 = not known.
type headcount struct {
	people int
	until  time.Time
}

// see fills in how many are in the chat of m, where that may matter: somebody
// who is alone with the bot need not name it.
func (a *Adapter) see(ctx context.Context, m *chat.Message) {
	if m.Kind != chat.KindText || m.Place.Direct || m.Addressed || m.Sender.Bot {
		return
	}
	h, ok := a.mind.crowds.get(m.Place.Chat)
	if !ok || time.Now().After(h.until) {
		h = a.count(ctx, m.Place.Chat)
		a.mind.crowds.put(m.Place.Chat, h)
	}
	m.People = h.people
}

func (a *Adapter) count(ctx context.Context, id string) headcount {
	var out struct {
		People json.Number `json:"user_count"`
		Bots   json.Number `json:"bot_count"`
	}
	err := a.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/chats/" + id, limit: crowdLimit}, &out)
	people, noPeople := out.People.Int64()
	bots, noBots := out.Bots.Int64()
	if err != nil || noPeople != nil || noBots != nil || bots < 1 {
		a.log.DebugContext(ctx, "it is not known how many are in a group", "chat", id, "err", err)
		return headcount{until: time.Now().Add(crowdAgain)}
	}
	return headcount{people: int(people + bots - 1), until: time.Now().Add(crowdKeeps)}
}
