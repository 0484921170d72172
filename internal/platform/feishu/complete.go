package feishu

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Limits of what is asked before an event is stored. What is not known in time
// is done without.
const (
	nameLimit  = 60 * time.Millisecond
	pressLimit = 400 * time.Millisecond // of a press: its answer names who pressed
)

// complete adds what the event leaves out: names, how many there are in a
// group, and of a press whether its chat is a direct one.
func (a *Adapter) complete(ctx context.Context, t *taken) {
	limit := nameLimit
	var asked sync.WaitGroup
	if t.click {
		limit = pressLimit
		asked.Go(func() {
			if k, ok := a.kindOf(ctx, t.msg.Place.Chat); ok {
				t.msg.Place.Direct, t.msg.Place.Title = k.direct, k.title
			}
		})
	}
	if t.msg.Sender.Name == "" && t.msg.Sender.ID != "" && !t.msg.Sender.Bot {
		t.msg.Sender.Name = a.nameOf(ctx, t.msg.Sender.ID, limit)
	}
	a.see(ctx, &t.msg)
	asked.Wait()
}

// nameOf asks for a person's name, once, and waits for it as long as limit.
func (a *Adapter) nameOf(ctx context.Context, openID string, limit time.Duration) string {
	if n, ok := a.mind.names.get(openID); ok {
		return n
	}
	a.mind.names.put(openID, "")
	found := make(chan string, 1)
	a.busy.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		name, err := personName(ctx, a.rest, openID, 0)
		if err != nil {
			a.log.DebugContext(ctx, "name not known", "err", err)
		}
		a.mind.names.put(openID, name)
		found <- name
	})
	wait := time.NewTimer(limit)
	defer wait.Stop()
	select {
	case n := <-found:
		return n
	case <-wait.C:
		return ""
	}
}

// kindOf asks what kind of chat it is, unless that is known.
func (a *Adapter) kindOf(ctx context.Context, id string) (chatKind, bool) {
	if k, ok := a.mind.chats.get(id); ok {
		return k, true
	}
	var out struct {
		Name  string `json:"name"`
		Mode  string `json:"chat_mode"`
		Group string `json:"group_message_type"`
	}
	err := a.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/chats/" + id, limit: pressLimit}, &out)
	if err != nil {
		a.log.DebugContext(ctx, "kind of a chat not known", "err", err)
		return chatKind{}, false
	}
	k := chatKind{direct: out.Mode == "p2p", topics: out.Mode == "topic" || out.Group == "thread", title: out.Name}
	a.mind.chats.put(id, k)
	return k, true
}
