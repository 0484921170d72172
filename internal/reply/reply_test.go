package reply_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/fake"
	"cligate/internal/reply"
	"cligate/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// traits are those of a service like Telegram.
var traits = platform.Traits{
	Edits: true, Buttons: true, Typing: true, Settles: true,
	PerChat:       platform.Rate{Every: time.Second, Burst: 3},
	PerGroup:      platform.Rate{Every: 4 * time.Second, Burst: 5},
	PerAccount:    platform.Rate{Every: 40 * time.Millisecond, Burst: 5},
	ProgressEvery: 1600 * time.Millisecond, ProgressEveryGroup: 6 * time.Second,
}

// house is a voice with a real ledger and a fake service.
type house struct {
	t     *testing.T
	db    *store.DB
	tg    *fake.Service
	cfg   reply.Config
	voice *reply.Voice
	// ledger is what the voice gets instead of the ledger itself.
	ledger reply.Ledger
	stop   func() // ends the voice, as the end of the daemon does

	mu     sync.Mutex
	dead   []string
	resent int
	logs   strings.Builder
	turns  int
}

// Write implements io.Writer for the log.
func (h *house) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs.Write(p)
}

// bubble runs a test in a bubble of fake time.
func bubble(t *testing.T, tr platform.Traits, f func(h *house)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, tg: fake.New(t, tr)}
		var err error
		if h.db, err = store.Open(t.Context(), store.Config{Dir: dir, Ballast: -1}); err != nil {
			t.Fatal(err)
		}
		h.cfg = reply.Config{
			Log: slog.New(slog.NewTextHandler(h, nil)),
			Dead: func(o chat.Out, reason error) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.dead = append(h.dead, o.Part.Text+": "+chat.DetailOf(reason))
			},
			Resent: func(chat.Out) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.resent++
			},
		}
		h.start()
		f(h)
		h.stop()
		if err := h.db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// start makes a new voice on the same ledger, as a new process would.
func (h *house) start() {
	h.t.Helper()
	var err error
	if h.ledger == nil {
		h.ledger = h.db.Outbox()
	}
	h.voice, err = reply.New(h.ledger, map[string]platform.Adapter{"tg": h.tg}, h.cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		_ = h.voice.Run(ctx)
	}()
	h.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// place makes a place that the ledger knows; somebody wrote there.
func (h *house) place(chatID string, direct bool) chat.Place {
	h.t.Helper()
	h.turns++
	ms := []chat.Inbound{{Message: chat.Message{
		Key: fmt.Sprintf("in/%s/%d", chatID, h.turns), Kind: chat.KindText, Text: "hello", Sender: chat.Person{ID: "7"},
		Place: chat.Place{Platform: "fake", Account: "tg", Chat: chatID, Direct: direct, Space: "s"},
		Ref:   chat.Ref{ID: fmt.Sprint(h.turns), Chat: chatID, Num: int64(h.turns)},
	}, Role: chat.RoleOwner}}
	if _, err := h.db.Inbox().Record(h.t.Context(), "tg", "", ms); err != nil {
		h.t.Fatal(err)
	}
	return ms[0].Place
}

// turn is a running turn's number and place; the ledger of the outbox asks for
// no more.
func turnOf(p chat.Place, id int64) chat.Turn {
	return chat.Turn{ID: id, Place: p, State: chat.TurnRunning}
}

func (h *house) enqueue(outs []chat.Out) {
	h.t.Helper()
	if err := h.db.Outbox().Enqueue(h.t.Context(), outs); err != nil {
		h.t.Fatal(err)
	}
	for _, o := range outs {
		h.voice.Wake(o.Place)
	}
}

// finish ends a turn as the runner does.
func (h *house) finish(l *reply.Live, t chat.Turn, text string) {
	h.t.Helper()
	l.End("done · 3s", chat.SignDone)
	h.enqueue(h.voice.Compose(t.Place, t.ID, fmt.Sprintf("final/%d", t.ID), chat.OutFinal,
		chat.Reply{Kind: chat.ReplyAnswer, Markdown: text}))
	h.voice.Wake(t.Place)
}

func (h *house) say(p chat.Place, key, text string) {
	h.t.Helper()
	if err := h.voice.Say(h.t.Context(), p, key, chat.Reply{Kind: chat.ReplyNotice, Markdown: text}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) want(chatID string, texts ...string) {
	h.t.Helper()
	got := h.tg.Texts(chatID)
	if strings.Join(got, "|") != strings.Join(texts, "|") {
		h.t.Errorf("chat %s shows %q, want %q", chatID, got, texts)
	}
}

func (h *house) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs.String()
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func stream(l *reply.Live, n int, every time.Duration) {
	for i := range n {
		l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("%04d another few words, ", i)})
		time.Sleep(every)
	}
}
