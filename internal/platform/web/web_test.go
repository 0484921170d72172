package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/store"
	"cligate/internal/web/api"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait"))
}

const room = "c-test"

var owner = chat.Person{ID: "owner", Name: "Owner", Lang: "en"}

// gate is the rest of the way in, as short as it can be: it records.
type gate struct {
	inbox store.Inbox
	mu    sync.Mutex
	ack   func(m chat.Message) chat.Ack // for clicks
	hold  chan struct{}                 // Receive waits for it, when set
	busy  chan struct{}                 // told when Receive begins, when set
	seen  []chat.Message
}

func (g *gate) Receive(ctx context.Context, b platform.Batch) ([]chat.Ack, error) {
	if g.busy != nil {
		g.busy <- struct{}{}
		<-g.hold
	}
	acks := make([]chat.Ack, len(b.Messages))
	for i, m := range b.Messages {
		rs, err := g.inbox.Record(ctx, b.Account, b.Cursor, []chat.Inbound{{Message: m, Role: chat.RoleOwner, State: chat.InboundNew}})
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		g.seen = append(g.seen, m)
		if g.ack != nil {
			acks[i] = g.ack(m)
		}
		g.mu.Unlock()
		acks[i].Inbound, acks[i].Fresh = rs[0].ID, rs[0].Fresh
	}
	return acks, nil
}

func (g *gate) Cursor(ctx context.Context, account string) (string, error) {
	return g.inbox.Cursor(ctx, account)
}

// house is the web platform over a real ledger and a real connection.
type house struct {
	t    *testing.T
	dir  string
	db   *store.DB
	a    *Adapter
	gate *gate
	srv  *httptest.Server
	end  func() // of Run
	stop func()
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir()}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *house) start() {
	h.t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(context.WithoutCancel(h.t.Context()), store.Config{Dir: h.dir, Ballast: -1, Log: log})
	if err != nil {
		h.t.Fatal(err)
	}
	who := func(*http.Request) (chat.Person, bool) { return owner, true }
	a, err := New(db.WebChats(), Config{Account: "web", Who: who, Streams: 64}, log)
	if err != nil {
		h.t.Fatal(err)
	}
	h.db, h.a, h.gate = db, a, &gate{inbox: db.Inbox()}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	var wg sync.WaitGroup
	a.door.open(h.gate) // Run does it too, but who knows when
	wg.Go(func() { _ = a.Run(ctx, h.gate) })
	h.end = func() { cancel(); wg.Wait() }
	h.srv = httptest.NewServer(a.Handler())
	h.stop = sync.OnceFunc(func() {
		h.srv.CloseClientConnections()
		h.srv.Close()
		h.srv.Client().CloseIdleConnections()
		h.end()
		if err := db.Close(); err != nil {
			h.t.Error(err)
		}
	})
}

// restart ends the daemon's half and starts it again over the same ledger.
func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.start()
}

func (h *house) do(method, path string, body any) (int, []byte) {
	h.t.Helper()
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			h.t.Fatal(err)
		}
		rd = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.srv.URL+path, rd)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := h.srv.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, got
}

func call[T any](h *house, method, path string, body any) T {
	h.t.Helper()
	status, got := h.do(method, path, body)
	if status != http.StatusOK {
		h.t.Fatalf("%s %s: %d %s", method, path, status, got)
	}
	var v T
	if err := json.Unmarshal(got, &v); err != nil {
		h.t.Fatalf("%s %s: %v in %s", method, path, err, got)
	}
	return v
}

func at(parts ...string) string { return api.Chats + "/" + strings.Join(parts, "/") }

func (h *house) say(key, text string) api.Taken {
	h.t.Helper()
	return call[api.Taken](h, "POST", at(room, "messages"), api.Post{Key: key, Text: text})
}

func (h *house) lines() api.Lines {
	h.t.Helper()
	return call[api.Lines](h, "GET", at(room, "lines"), nil)
}

// place returns a place that the ledger knows.
func (h *house) place(chatID string) chat.Place {
	h.t.Helper()
	ps, err := h.db.WebChats().WebChats(h.t.Context(), "web", 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range ps {
		if p.Chat == chatID {
			return p
		}
	}
	h.t.Fatalf("no chat %s", chatID)
	return chat.Place{}
}

// queue stores a row and returns it as the sender gets it.
func (h *house) queue(o chat.Out) chat.Out {
	h.t.Helper()
	ctx := h.t.Context()
	if o.Op == "" {
		o.Op = chat.OpPost
	}
	if o.Place.Chat == "" {
		o.Place.Chat = room
	}
	o.Place = h.place(o.Place.Chat)
	if err := h.db.Outbox().Enqueue(ctx, []chat.Out{o}); err != nil {
		h.t.Fatal(err)
	}
	next, err := h.db.Outbox().NextOut(ctx, o.Place.Channel())
	if err != nil {
		h.t.Fatal(err)
	}
	return next
}

// post queues a row and sends it as the sender does.
func (h *house) post(o chat.Out) chat.Ref {
	h.t.Helper()
	return h.send(h.queue(o))
}

func (h *house) send(o chat.Out) chat.Ref {
	h.t.Helper()
	ref, err := h.a.Send(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	if o.ID > 0 {
		if err := h.db.Outbox().Sent(h.t.Context(), o.ID, ref); err != nil {
			h.t.Fatal(err)
		}
	}
	return ref
}

func (h *house) part(kind chat.ReplyKind, md string, bs ...chat.Button) chat.Part {
	r := chat.Reply{Kind: kind, Markdown: md}
	if len(bs) > 0 {
		r.Buttons = [][]chat.Button{bs}
	}
	return h.a.Render(r)[0]
}

// listener is a browser's event stream.
type listener struct {
	t      *testing.T
	body   io.Closer
	in     *bufio.Scanner
	cursor string
}

func (h *house) listen(after string) *listener { return h.listenTo(room, after) }

func (h *house) listenTo(chatID, after string) *listener {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.srv.URL+at(chatID, "events"), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", after)
	resp, err := h.srv.Client().Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		h.t.Fatalf("event stream: %s", resp.Status)
	}
	l := &listener{t: h.t, body: resp.Body, in: bufio.NewScanner(resp.Body), cursor: after}
	l.in.Buffer(nil, 8<<20)
	h.t.Cleanup(l.close)
	return l
}

func (l *listener) close() { _ = l.body.Close() }

// next returns the next event; false when the stream has ended.
func (l *listener) next() (api.Event, bool) {
	l.t.Helper()
	for l.in.Scan() {
		line := l.in.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			l.cursor = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e api.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				l.t.Fatalf("event %q: %v", data, err)
			}
			return e, true
		}
	}
	return api.Event{}, false
}

// until returns the events up to the first one of a kind.
func (l *listener) until(kind api.EventKind) []api.Event {
	l.t.Helper()
	var all []api.Event
	for {
		e, ok := l.next()
		if !ok {
			l.t.Fatalf("the stream ended; no %s among %v", kind, all)
		}
		all = append(all, e)
		if e.Kind == kind {
			return all
		}
	}
}

// message returns the next message.
func (l *listener) message() api.Message {
	l.t.Helper()
	all := l.until(api.EventMessage)
	return *all[len(all)-1].Message
}

func key(n int) string { return fmt.Sprintf("key-%06d", n) }
