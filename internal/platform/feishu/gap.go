package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform/uplink"
)

const (
	// longAway is the time without a connection after which the histories of
	// chats are read. What was pushed in a shorter one comes again by itself and
	// soon; later it comes hours late, and after about seven hours never.
	longAway = 5 * time.Minute
	// lookBack is how much silence is made up for at most.
	lookBack = 7 * 24 * time.Hour
	markMost = 50 // chats, those that spoke last
	gapPages = 20 // of fifty messages, of each chat
	gapLook  = 2 * time.Second
)

// gap makes up for what was said while no event arrived. It remembers, in the
// account's cursor, which chats spoke last and when; afterwards it reads their
// histories from there. What is known already is not stored again. Of a topic in
// an ordinary group, histories show the first message only.
type gap struct {
	rest *rest
	link *uplink.State
	lang string
	app  string
	log  *slog.Logger
	now  func() time.Time

	mu    sync.Mutex
	marks marks
	since time.Time // when the connection was lost; zero while there is one
	left  marks     // as they were then
}

// marks is the cursor.
type marks struct {
	Tenant string              `json:"tenant,omitempty"`
	Chats  map[string]chatMark `json:"chats,omitempty"`
}

// chatMark is the last message of a chat that was for the bot.
type chatMark struct {
	At   int64  `json:"at"`   // Unix milliseconds
	Kind string `json:"kind"` // chat_type
}

func (k marks) last() (at int64) {
	for _, m := range k.Chats {
		at = max(at, m.At)
	}
	return at
}

// begin takes up the marks of an earlier life.
func (g *gap) begin(cursor string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if json.Unmarshal([]byte(cursor), &g.marks) != nil {
		g.marks = marks{}
	}
	if at := g.marks.last(); at > 0 && g.now().Sub(time.UnixMilli(at)) > longAway {
		g.since, g.left = time.UnixMilli(at), g.copied()
	}
}

func (g *gap) copied() marks {
	return marks{Tenant: g.marks.Tenant, Chats: maps.Clone(g.marks.Chats)}
}

// away is told that the connection is lost.
func (g *gap) away() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since.IsZero() {
		g.since, g.left = g.now(), g.copied()
	}
}

// mark notes a message and returns the cursor that is stored with it; empty
// when there is nothing to note.
func (g *gap) mark(t taken) string {
	m := t.msg
	if m.Kind != chat.KindText || m.Place.Chat == "" || m.Sender.Bot || !m.Addressed {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kind := "group"
	switch {
	case m.Place.Direct:
		kind = "p2p"
	case m.Place.Thread != "" && t.topics:
		kind = "topic_group"
	}
	if g.marks.Chats == nil {
		g.marks.Chats = map[string]chatMark{}
	}
	g.marks.Tenant = cmp.Or(t.tenant, g.marks.Tenant)
	g.marks.Chats[m.Place.Chat] = chatMark{At: max(m.SentAt.UnixMilli(), g.marks.Chats[m.Place.Chat].At), Kind: kind}
	if len(g.marks.Chats) > markMost {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(g.marks.Chats)), func(a, b string) int {
			return cmp.Compare(g.marks.Chats[a].At, g.marks.Chats[b].At)
		})
		delete(g.marks.Chats, oldest)
	}
	raw, _ := json.Marshal(g.marks) // always possible
	return string(raw)
}

// run makes up for gaps until ctx ends.
func (g *gap) run(ctx context.Context, h handler, connected func() bool) {
	for ctx.Err() == nil {
		if connected() {
			g.mu.Lock()
			since, left := g.since, g.left
			g.since = time.Time{}
			g.mu.Unlock()
			if !since.IsZero() && g.now().Sub(since) > longAway {
				g.fill(ctx, h, left)
			}
		}
		if !sleep(ctx, gapLook) {
			return
		}
	}
}

// fill reads the histories of chats from their marks on. Where the app may not
// read one, or not all of it is read, the operator is told that something may be
// missing.
func (g *gap) fill(ctx context.Context, h handler, from marks) {
	closed, found := 0, 0
	for _, id := range slices.Sorted(maps.Keys(from.Chats)) {
		n, err := g.chat(ctx, h, from.Tenant, id, from.Chats[id])
		found += n
		if err == nil || ctx.Err() != nil {
			continue
		}
		g.log.WarnContext(ctx, "history of a chat not read", "chat", id, "err", err)
		if chat.CodeOf(err) != chat.Park {
			closed++
		}
	}
	g.log.InfoContext(ctx, "histories read after a long time without events", "chats", len(from.Chats), "messages", found)
	if closed > 0 {
		g.link.Tell("gap", i18n.T(g.lang, "feishu.gap", "n", closed), true)
	}
}

// errLong is a history of which only the beginning was read.
var errLong = errors.New("more was said than is read")

// chat reads the history of one chat and returns how many messages of people it
// has handed on.
func (g *gap) chat(ctx context.Context, h handler, tenant, id string, from chatMark) (n int, err error) {
	start := max(from.At, g.now().Add(-lookBack).UnixMilli()) / 1000
	query := map[string]string{"container_id_type": "chat", "container_id": id, "start_time": strconv.FormatInt(start, 10),
		"sort_type": "ByCreateTimeAsc", "page_size": "50"}
	for range gapPages {
		var out struct {
			Items []stored `json:"items"`
			More  bool     `json:"has_more"`
			Next  string   `json:"page_token"`
		}
		if err := g.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/messages", query: query}, &out); err != nil {
			return n, reading(err)
		}
		for _, m := range out.Items {
			if m.Gone || m.Sender.Type != "user" {
				continue
			}
			if _, err := h(ctx, g.event(m, tenant, id, from.Kind)); err != nil {
				return n, err
			}
			n++
		}
		if !out.More || out.Next == "" {
			return n, nil
		}
		query["page_token"] = out.Next
	}
	return n, errLong
}

// event is a message of a history as it would have been pushed.
func (g *gap) event(m stored, tenant, id, kind string) []byte {
	mentions := make([]object, len(m.Mentions))
	for i, at := range m.Mentions {
		mentions[i] = object{"key": at.Key, "name": at.Name, "id": object{"open_id": at.ID.Open}}
	}
	raw, _ := json.Marshal(object{ // always possible
		"schema": "2.0",
		"header": object{"event_id": "history/" + m.ID, "event_type": eventMessage, "create_time": m.At, "app_id": g.app, "tenant_key": tenant},
		"event": object{
			"sender": object{"sender_id": object{"open_id": m.Sender.ID}, "sender_type": m.Sender.Type, "tenant_key": m.Sender.Tenant},
			"message": object{"message_id": m.ID, "root_id": m.Root, "parent_id": m.Parent, "thread_id": m.Thread, "create_time": m.At,
				"chat_id": id, "chat_type": kind, "message_type": m.Type, "content": m.Body.Content, "mentions": mentions},
		},
	})
	return raw
}
